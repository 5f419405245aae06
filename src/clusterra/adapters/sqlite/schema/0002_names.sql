-- Jobs by name, the newest first: for `name:align` and `name:al*`.
create index job_name on job (cluster, name, submitted, id, born);

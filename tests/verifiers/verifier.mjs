// Verifies what it is given on stdin, an array of {secret, headers, body (base64)}, with the
// published package, and prints for each what was wrong; empty if nothing.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const results = JSON.parse(readFileSync(0)).map(({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    return "";
  } catch (error) {
    return String(error.message || error);
  }
});
console.log(JSON.stringify(results));

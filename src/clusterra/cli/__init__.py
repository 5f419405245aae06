"""The terminal: one file per noun. A command turns words into one request and prints its answer.

How it speaks: the first line answers, details follow, the last line is the next step as a
command that can be pasted. Words come before codes.
"""

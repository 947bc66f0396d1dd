"""The functions behind `import twinloop as tl`: one call per command, with paths or objects as arguments.

Import them from `twinloop`, which loads each module of this package on first use. Like `twinloop.cli`, this package
only presents: it turns paths into records, calls the stages, and returns the record that the stage produced.
"""

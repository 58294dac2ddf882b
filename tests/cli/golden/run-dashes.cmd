espalier run -- echo --summary

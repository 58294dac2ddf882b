espalier report

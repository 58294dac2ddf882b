printf "# x\n\nnode.alpha = fast\n" | espalier gather --dist same -p 4 --model -

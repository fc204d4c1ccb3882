# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a notebook from top to bottom and compares what its cells print with what the file shows.

usage: notebook.py NOTEBOOK [--update]      --update: writes what was printed into the file
"""
import os
import sys
import tempfile

try:
    import nbclient
    import nbformat
except ImportError as error:
    print("SKIP:", error)
    sys.exit(77)


def shown(cell):
    """What a cell prints and answers, as text."""
    parts = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            parts.append(output.text)
        elif output.output_type == "error":
            parts.append(f"{output.ename}: {output.evalue}\n")
        else:
            parts += [output.data[kind] + "\n" for kind in sorted(output.data)]
    return "".join(parts)


def main():
    path, update = sys.argv[1], "--update" in sys.argv
    book = nbformat.read(path, as_version=4)
    expected = [shown(cell) for cell in book.cells if cell.cell_type == "code"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = folder
        nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    if update:
        for cell in code:
            cell.metadata = {}
            for output in cell.outputs:
                output.pop("traceback", None) if output.output_type != "error" else output.update(traceback=[])
        book.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        return nbformat.write(book, path)
    wrong = 0
    for number, (cell, before) in enumerate(zip(code, expected), 1):
        if shown(cell) != before:
            wrong += 1
            print(f"{path}: cell {number}\n{cell.source}\n--- the file shows\n{before}\n--- and it prints\n{shown(cell)}")
    print(f"{len(code)} cells, {wrong} differ")
    sys.exit(wrong > 0)


main()

// Made by scripts/prompts.mjs from the .md files of this folder. Edit those.
export const prompts = {
  "bash-output": "New output of a background command since the last look, and whether it runs. `filter`: a regex; only lines that match, the others are gone.",
  "bash": "Runs a bash command and gives stdout and stderr together. The working folder is kept from call to call; other shell state is not. There is no terminal and no stdin: give programs what stops them asking. Long output is cut in the middle. For files, rather use Read, Edit, Glob and Grep.",
  "kill-shell": "Stops a background command and all it has started.",
  "monitor": "Tells you of lines of a background command's output that match a regex, as they come: new ones from here on and those that no look has shown. At most 20 messages, about one every 2 seconds; then, or after `timeout` ms, it stops. The command goes on.",
  "edit": "Replaces exact text in a file that was read in this session. `old_string` is the file's text with its indentation, without Read's line numbers, and must occur once: add lines around it, or set `replace_all`. An empty `old_string` makes a new file.",
  "glob": "Finds files by name, such as `src/**/*.{ts,tsx}`; newest first, at most 100. Dot files count; what .gitignore names does not, unless the path or the pattern starts in it.",
  "grep": "Searches file contents with ripgrep: its regex syntax, literal braces escaped. Skips hidden and ignored files unless `path` names them. Newest files first. Use it in place of grep or rg in Bash.",
  "notebook-edit": "Replaces, inserts or deletes one cell of a Jupyter notebook that was read in this session. A replaced code cell loses its outputs.",
  "read": "Reads a file: text, image, PDF or notebook; a folder gives its listing. Lines come numbered, as `cat -n` does. Paths are absolute or start at the project folder. Gives 2000 lines unless `offset` and `limit` say otherwise; longer lines than 2000 characters are cut. Read a file before you edit it.",
  "write": "Writes a whole file, making missing folders. An existing file must have been read in this session, and keeps its line ends and encoding. To change a part of a file use Edit.",
} as const;

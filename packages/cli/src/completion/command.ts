/**
 * `farebox completion`: scripts by which bash, zsh and fish complete commands and options.
 *
 * @module
 */
import { wrongCall } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";

const SHELLS: Readonly<Record<string, (commands: readonly Command[]) => string>> = { bash, zsh, fish };

export const command: Command = defineCommand({
  name: "completion",
  summary: "Prints a script by which a shell completes commands and options",
  usage: "bash|zsh|fish",
  details: `For bash, add this line to ~/.bashrc: eval "$(farebox completion bash)"
For zsh, add this line to ~/.zshrc: eval "$(farebox completion zsh)"
For fish, write the script to ~/.config/fish/completions/farebox.fish`,
  options: {},
  async run({ args, terminal, commands }) {
    const [shell = ""] = args;
    const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (write === undefined || args.length > 1) {
      throw wrongCall(`there is no completion for ${JSON.stringify(args.join(" "))}`, "Write bash, zsh or fish");
    }
    const loaded = await Promise.all(commands.map(({ load }) => load()));
    terminal.write(write(loaded.map((each) => each.command)));
    return 0;
  },
});

/** What may follow each beginning of a call: `""` for `farebox` alone, `ledger`, `ledger report`. */
function wordsByPrefix(commands: readonly Command[]): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, string[]>();
  const add = (prefix: string, word: string) => {
    const known = words.get(prefix) ?? [];
    if (!known.includes(word)) words.set(prefix, [...known, word]);
  };
  for (const { name, options } of commands) {
    const parts = name.split(" ");
    for (const [at, part] of parts.entries()) add(parts.slice(0, at).join(" "), part);
    for (const option of [...Object.keys(options), "help"]) add(name, `--${option}`);
  }
  return words;
}

function casesOf(commands: readonly Command[]): string {
  const cases = [...wordsByPrefix(commands)].filter(([prefix]) => prefix !== "");
  return cases
    .sort(([a], [b]) => b.length - a.length)
    .map(([prefix, words]) => `    "${prefix}"|"${prefix} "*) words="${words.join(" ")}" ;;`)
    .join("\n");
}

function bash(commands: readonly Command[]): string {
  return `_farebox() {
  local words
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1}" in
${casesOf(commands)}
    *) words="${wordsByPrefix(commands).get("")?.join(" ")}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _farebox farebox
`;
}

function zsh(commands: readonly Command[]): string {
  return `autoload -U +X bashcompinit && bashcompinit
${bash(commands)}`;
}

function fish(commands: readonly Command[]): string {
  const rows = commands.flatMap(({ name, summary, options }) => {
    const parts = name.split(" ");
    const last = parts.at(-1) as string;
    const before = parts.slice(0, -1);
    const condition = before.length === 0 ? "__fish_use_subcommand" : `__fish_seen_subcommand_from ${before.join(" ")}`;
    const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`).join("; and ");
    return [
      `complete -c farebox -n "${condition}" -a ${last} -d ${quote(summary)}`,
      ...Object.entries(options).map(
        ([option, { description, type }]) =>
          `complete -c farebox -n "${seen}" -l ${option}${type === "string" ? " -r" : ""} -d ${quote(description)}`,
      ),
    ];
  });
  return `${rows.join("\n")}\n`;
}

/** A text as fish takes it. */
function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, (char) => `\\${char}`)}'`;
}

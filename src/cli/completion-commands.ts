import { Argument, type Command } from 'commander'
import { suggestions } from './completion.ts'
import { exitCodes } from './exit-codes.ts'
import { plainLine } from './plain-text.ts'
import { type GlobalOptions, type Registry, toolsOf, withExamples } from './world.ts'

/** Time for one request for names; a shell waits for the answer. */
const requestTimeoutMs = 800

const shells = ['bash', 'zsh', 'fish'] as const

/** Scripts that call `switchyard __complete` with the words up to the cursor. A line is a value, a tab, a description. */
const scripts: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `_switchyard() {
  local line value
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v value '%q' "\${line%%$'\\t'*}"
    COMPREPLY+=("$value")
  done < <(switchyard __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _switchyard switchyard
`,
  zsh: `#compdef switchyard
_switchyard() {
  local line
  local -a values
  while IFS= read -r line; do
    values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(switchyard __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#values} )); then _describe switchyard values; else _files; fi
}
compdef _switchyard switchyard
`,
  fish: `function __switchyard_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l found (switchyard __complete -- $words (commandline -ct) 2>/dev/null)
  if count $found >/dev/null
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c switchyard -f -a '(__switchyard_complete)'
`,
}

/** Adds `completion` and the hidden command that its scripts call. */
export function addCompletionCommands(program: Command, { world, doing }: Registry): void {
  const completion = program
    .command('completion')
    .description('print the script that completes commands, options and names in a shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .action(
      doing(async ({ out }, _, [shell]) => {
        const script = scripts[shell as (typeof shells)[number]]
        out.data({ shell, script })
        out.text(script)
        return exitCodes.ok
      }),
    )
  withExamples(completion, [
    'switchyard completion bash > ~/.local/share/bash-completion/completions/switchyard',
    'switchyard completion zsh > ~/.zfunc/_switchyard',
    'switchyard completion fish > ~/.config/fish/completions/switchyard.fish',
  ])
  const fetch: typeof globalThis.fetch = (input, init) =>
    world.fetch(input, { ...init, signal: AbortSignal.timeout(requestTimeoutMs) })
  program
    .command('__complete', { hidden: true })
    .description('print completions of the given words')
    .addArgument(new Argument('[words...]', 'words up to the cursor'))
    .action(
      doing(async ({ out }, _, words) => {
        const { client } = await toolsOf({ ...world, fetch }, globalOptionsIn(words))
        for (const { value, description } of await suggestions(program, words, client))
          out.line(`${value}\t${plainLine(description, 80)}`)
        return exitCodes.ok
      }),
    )
}

/** Address and key on the unfinished command line. */
function globalOptionsIn(words: readonly string[]): GlobalOptions {
  const after = (flag: string) => (words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined)
  const [url, key] = [after('--url'), after('--key')]
  return { ...(url !== undefined && { url }), ...(key !== undefined && { key }) }
}

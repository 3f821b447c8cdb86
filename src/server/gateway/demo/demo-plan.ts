/** Something the demo model can do for a prompt. */
export type DemoStep =
  | { readonly kind: 'write'; readonly file: string; readonly content: string }
  | { readonly kind: 'read'; readonly file: string }
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'list' }

const quoted = '"[^"]*"|\'[^\']*\'|`[^`]*`|\u201c[^\u201d]*\u201d'
const file = '[`"\']?(?<file>[\\w./-]*\\w\\.\\w+)[`"\']?'
/** Words up to the end of the clause. */
const clause = '[^\\n]+?(?=[.,;!?]?(?:\\s+(?:and|then)\\b|,\\s|;\\s|\\.\\s|\\s*[.!?]?\\s*$|\\n))'
const saying =
  '(?:that|which)\\s+(?:says|reads|contains|has)|saying|reading|containing|with(?:\\s+the)?(?:\\s+(?:text|content|contents|words?|line))?'

interface Rule {
  readonly pattern: RegExp
  readonly step: (groups: Readonly<Record<string, string | undefined>>) => DemoStep
}

/** The few wishes that the script understands. */
const rules: readonly Rule[] = [
  {
    pattern: new RegExp(
      `\\b(?:create|write|make|add|save)\\b(?:\\s+(?:me|a|an|the|new|file|text|called|named))*\\s+${file}` +
        `(?:\\s+(?:${saying})\\s*:?\\s+(?<content>${quoted}|${clause}))?`,
      'gi',
    ),
    step: ({ file = '', content }) => ({
      kind: 'write',
      file,
      content: unquoted(content ?? 'Written by the demo model.'),
    }),
  },
  {
    pattern: new RegExp(
      `\\b(?:write|put|save)\\s+(?<content>${quoted}|\\S+)\\s+(?:to|into|in)\\s+(?:the\\s+file\\s+)?${file}`,
      'gi',
    ),
    step: ({ file = '', content = '' }) => ({ kind: 'write', file, content: unquoted(content) }),
  },
  {
    pattern: new RegExp(`\\b(?:run|execute)\\s+(?:the\\s+)?(?:command\\s+)?(?<command>${quoted}|${clause})`, 'gi'),
    step: ({ command = '' }) => ({ kind: 'run', command: unquoted(command) }),
  },
  {
    pattern: new RegExp(`\\b(?:read|show|open|print|cat)\\s+(?:me\\s+)?(?:the\\s+)?(?:file\\s+)?${file}`, 'gi'),
    step: ({ file = '' }) => ({ kind: 'read', file }),
  },
  {
    pattern: /\blist\b|\b(?:show|see)\s+(?:me\s+)?(?:the\s+|all\s+)?(?:files|folder|directory)\b|\bls\b/gi,
    step: () => ({ kind: 'list' }),
  },
]

/** Longer prompts are understood by their beginning: the script is a demonstration. */
const maxPromptLength = 2_000
const maxSteps = 8

/** What `prompt` asks for, in its order. A prompt without a known wish becomes a look at the folder. */
export function planOf(prompt: string): readonly DemoStep[] {
  const text = prompt.slice(0, maxPromptLength)
  const found = rules.flatMap(({ pattern, step }) =>
    [...text.matchAll(pattern)].map(match => ({
      at: match.index,
      end: match.index + match[0].length,
      step: step(match.groups ?? {}),
    })),
  )
  found.sort((a, b) => a.at - b.at || b.end - a.end)
  const steps: DemoStep[] = []
  let taken = 0
  for (const { at, end, step } of found) {
    // A wish inside another one is a part of its text: "run `ls`" lists nothing by itself.
    if (at < taken) continue
    steps.push(step)
    taken = end
  }
  return steps.length === 0 ? [{ kind: 'list' }] : steps.slice(0, maxSteps)
}

function unquoted(text: string): string {
  const plain = text.trim()
  return /^(".*"|'.*'|`.*`|\u201c.*\u201d)$/s.test(plain) ? plain.slice(1, -1) : plain
}

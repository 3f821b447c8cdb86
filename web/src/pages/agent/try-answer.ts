import { recordOf } from './json-values.ts'

interface Message {
  readonly parts: readonly Readonly<Record<string, unknown>>[]
  readonly result?: unknown
}

/** Returns the text of an answer; a typed result as a block of JSON. */
export function answerIn({ parts, result }: Message): string {
  if (result !== undefined) return `\`\`\`json\n${JSON.stringify(result, null, 2)}\n\`\`\``
  return parts
    .map(recordOf)
    .filter(({ type, text }) => type === 'text' && typeof text === 'string')
    .map(({ text }) => String(text))
    .join('\n\n')
}

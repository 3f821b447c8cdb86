import { recordOf } from '../../data/json.ts'

interface Message {
  readonly info: Readonly<Record<string, unknown>>
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

/** Returns why the run ended without an answer, or with a part of it; undefined for a complete one. */
export function failureIn({ info }: Pick<Message, 'info'>): string | undefined {
  const { message } = recordOf(recordOf(info['error'])['data'])
  return typeof message === 'string' ? message : undefined
}

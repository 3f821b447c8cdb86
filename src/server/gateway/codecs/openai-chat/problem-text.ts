import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'

/** What an error body says, whatever its shape. */
export interface ProblemText {
  /** One plain sentence or a few; empty when the body has no words. */
  readonly message: string
  /** Its machine-readable codes and types, of every level. */
  readonly codes: readonly string[]
}

const silence: ProblemText = { message: '', codes: [] }
const maxLength = 1000
const maxDepth = 8

/** Reads an error body: OpenAI's, a text, a page, or another provider's error inside of one of these. */
export function readProblem(body: unknown, depth = maxDepth): ProblemText {
  if (depth === 0) return silence
  if (typeof body === 'string') return readText(body, depth)
  if (Array.isArray(body)) return readProblem(body[0], depth - 1)
  return isRecord(body) ? readObject(body, depth) : silence
}

function readObject(body: Json, depth: number): ProblemText {
  const codes = codesOf(body)
  const metadata = recordOf(body['metadata'])
  const parts = [body['error'], body['message'], body['detail'], metadata['raw'], body['errors']]
  const said = parts.map(part => (part === body['detail'] ? readDetail(part, depth) : readProblem(part, depth - 1)))
  const messages = said.map(({ message }) => message).filter(message => message !== '')
  return {
    // A router's own sentence, and behind it that of the provider it asked.
    message: [...new Set(messages)].join(': ').slice(0, maxLength),
    codes: [...codes, ...said.flatMap(part => part.codes)],
  }
}

/** `detail` is a text, or the list of what a validator found wrong. */
function readDetail(detail: unknown, depth: number): ProblemText {
  if (!Array.isArray(detail)) return readProblem(detail, depth - 1)
  const found = detail.filter(isRecord).map(({ loc, msg }) => [listOf(loc).join('.'), textOf(msg)])
  const message = found.map(words => words.filter(word => word !== '').join(': ')).join('; ')
  return { message: plain(message), codes: [] }
}

/** Text that holds JSON stands for what that says. */
function readText(text: string, depth: number): ProblemText {
  const at = text.search(/[{[]/)
  const inner = at < 0 ? undefined : parsed(text.slice(at))
  // Words may well end in [0].
  if (inner === undefined || (at > 0 && !isRecord(listOf(inner)[0] ?? inner)))
    return { message: plain(text), codes: [] }
  const { message, codes } = readProblem(inner, depth - 1)
  return { message: message || plain(text.slice(0, at)), codes }
}

function codesOf(body: Json): string[] {
  const inner = recordOf(body['innererror'])
  return [body['code'], body['type'], inner['code'], body['error_type']].filter(code => typeof code === 'string')
}

/** Without the markup of a page, of which only the title is kept. */
function plain(text: string): string {
  const isPage = /^\s*</.test(text)
  const words = isPage ? (/<title[^>]*>([^<]*)</i.exec(text.slice(0, 10_000))?.[1] ?? '') : text
  return words.replaceAll(/\s+/g, ' ').trim().slice(0, maxLength)
}

/** The object or array that `text` is; undefined for anything else. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Words of the upstream that only look like JSON.
    return undefined
  }
}

import { removals, type Splice, spliced } from '../bytes/body-edit.ts'
import { type Member, membersAt, type OwnMembers } from '../bytes/json-members.ts'
import { broken, openText, pastColon, skipBlank, stringEnd, type Text } from '../bytes/json-scanner.ts'
import type { Degradation } from '../core/degradations.ts'
import { sealPrefix } from '../core/reasoning-seal.ts'
import { wordBits } from '../core/request-words.ts'

interface Cleaned {
  readonly body: Buffer
  /** One for each block that was cut out. */
  readonly degraded: readonly Degradation[]
}

interface Options {
  /** True: thinking without a signature goes too, since Claude refuses it. Other servers make such blocks themselves. */
  readonly toClaude: boolean
  /** What the scan of `body` found. */
  readonly members?: Pick<OwnMembers, 'body' | 'foundWords'> | undefined
}

const nothingCut: readonly Degradation[] = []

/**
 * `body`, a valid request in Anthropic's format, without the thinking that its upstream cannot take: that which carries
 * another provider's state under our seal, and toward Claude also that without a signature. A message that held nothing
 * else gets the smallest content that is legal (our choice: so turns keep alternating). Every other byte stays. Source:
 * Gateway, section 2.1.
 */
export function withoutForeignThinking(body: Buffer, { toClaude, members }: Options): Cleaned {
  if (!mayHoldForeignThinking(body, { toClaude, members })) return { body, degraded: nothingCut }
  const splices: Splice[] = []
  const degraded: Degradation[] = []
  const text = openText(body)
  for (const { path, content } of contentsOf(text)) {
    const blocks = membersAt(text, content.valueStart)
    const foreign = blocks.filter(block => isForeign(text, block, toClaude))
    if (foreign.length === 0) continue
    if (foreign.length < blocks.length) splices.push(...removals(blocks, foreign))
    else splices.push({ start: content.valueStart, end: content.end, text: filler })
    for (const { key } of foreign) degraded.push({ path: `${path}.${key}`, action: 'dropped' })
  }
  return { body: spliced(body, splices), degraded }
}

interface Content {
  readonly path: string
  readonly content: Member
}

/** The contents of all messages. A key that stands twice counts twice: parsers disagree on which one is meant. */
const contentsOf = (text: Text): readonly Content[] =>
  named(text, skipBlank(text.bytes, 0), 'messages')
    .flatMap(messages => membersAt(text, messages.valueStart))
    .flatMap(message =>
      named(text, message.valueStart, 'content').map(content => ({ path: `messages.${message.key}.content`, content })),
    )

const named = (text: Text, at: number, name: string): readonly Member[] =>
  membersAt(text, at).filter(({ key }) => key === name)

/** An empty list or empty text would be refused. */
const filler = '[{"type":"text","text":"..."}]'
const sealedText = Buffer.from(`"${sealPrefix}`)
const rareText = sealedText.subarray(-3)
const thinkingText = Buffer.from('"thinking"')
const colon = 0x3a
const comma = 0x2c
const quote = 0x22

/** A quick look without parsing: false is certain. */
export const mayHoldForeignThinking = (body: Buffer, { toClaude, members }: Options): boolean =>
  mayHoldSealed(body) || (toClaude && mayHoldThinking(body, members) && mayHoldUnsigned(body))

const mayHoldThinking = (body: Buffer, members: Options['members']): boolean =>
  members?.body !== body || (members.foundWords & wordBits.thinking) !== 0

/** Quotes are everywhere: a search that starts at one would stop all the time. */
const mayHoldSealed = (body: Buffer): boolean => body.includes(rareText) && body.includes(sealedText)

/** A quick look without parsing: false is certain. A block's own text cannot fool it, since quotes are escaped there. */
function mayHoldUnsigned(body: Buffer): boolean {
  const text = openText(body)
  for (let at = body.indexOf(thinkingText); at >= 0; at = body.indexOf(thinkingText, at + thinkingText.length)) {
    if (isValue(body, at) && !isSignedBehind(text, at + thinkingText.length)) return true
  }
  return false
}

/** True when the string at `at` is no key of an object but the value of one. */
function isValue(body: Buffer, at: number): boolean {
  let before = at - 1
  while (before >= 0 && skipBlank(body, before) > before) before--
  return body[before] === colon
}

/** True when a signature follows among the strings of the same object. */
function isSignedBehind(text: Text, valueEnd: number): boolean {
  const body = text.bytes
  let at = skipBlank(body, valueEnd)
  while (body[at] === comma) {
    const keyStart = skipBlank(body, at + 1)
    const keyEnd = stringEnd(text, keyStart)
    const valueStart = pastColon(body, keyEnd)
    const end = stringEnd(text, valueStart)
    if (end === broken) return false
    if (end - valueStart > 2 && body.toString('latin1', keyStart, keyEnd) === '"signature"') return true
    at = skipBlank(body, end)
  }
  return false
}

function isForeign(text: Text, block: Member, toClaude: boolean): boolean {
  const body = text.bytes
  const fields = new Map(membersAt(text, block.valueStart).map(member => [member.key, member]))
  const type = textOf(body, fields.get('type'))
  if (type !== 'thinking' && type !== 'redacted_thinking') return false
  const signature = textOf(body, fields.get('signature'))
  const isSealed = signature.startsWith(sealPrefix) || textOf(body, fields.get('data')).startsWith(sealPrefix)
  return isSealed || (toClaude && type === 'thinking' && signature === '')
}

/** The string that a member holds; empty for any other value. */
function textOf(body: Buffer, member: Member | undefined): string {
  if (!member || body[member.valueStart] !== quote) return ''
  return JSON.parse(body.toString('utf8', member.valueStart, member.end)) as string
}

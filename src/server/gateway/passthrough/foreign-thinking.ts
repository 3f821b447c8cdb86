import { addAll } from '../../platform/add-all.ts'
import { removals, type Splice, spliced } from '../bytes/body-edit.ts'
import { type Member, membersAt, type OwnMembers } from '../bytes/json-members.ts'
import { malformed, openText, pastColon, skipBlank, stringEnd, type Text } from '../bytes/json-scanner.ts'
import type { Degradation } from '../core/degradations.ts'
import { signaturePrefix } from '../core/reasoning-signers.ts'
import { wordBits } from '../core/request-words.ts'

interface Cleaned {
  readonly body: Buffer
  /** One for each removed block. */
  readonly degraded: readonly Degradation[]
}

interface Options {
  /** True: thinking without a signature is removed too, because Claude rejects it. Other servers return such blocks. */
  readonly toClaude: boolean
  /** Result of the scan of `body`. */
  readonly members?: Pick<OwnMembers, 'body' | 'foundWords'> | undefined
}

const nothingCut: readonly Degradation[] = []

/**
 * Removes thinking that the upstream cannot read from `body`, a valid request in Anthropic's format: blocks with
 * another provider's state that the gateway encrypted and, for Claude, blocks without a signature. A message without
 * other content gets the smallest valid content (our choice: turns keep alternating). Every other byte stays. Source:
 * Gateway, section 2.1.
 */
export function withoutForeignThinking(body: Buffer, { toClaude, members }: Options): Cleaned {
  if (!mayContainForeignThinking(body, { toClaude, members })) return { body, degraded: nothingCut }
  const splices: Splice[] = []
  const degraded: Degradation[] = []
  const text = openText(body)
  for (const { path, content } of contentsOf(text)) {
    const blocks = membersAt(text, content.valueStart)
    const foreign = blocks.filter(block => isForeign(text, block, toClaude))
    if (foreign.length === 0) continue
    if (foreign.length < blocks.length) addAll(splices, removals(blocks, foreign))
    else splices.push({ start: content.valueStart, end: content.end, text: filler })
    for (const { key } of foreign) degraded.push({ path: `${path}.${key}`, action: 'dropped' })
  }
  return { body: spliced(body, splices), degraded }
}

interface Content {
  readonly path: string
  readonly content: Member
}

/** Returns the contents of all messages. A duplicate key counts twice: parsers disagree on which one is meant. */
const contentsOf = (text: Text): readonly Content[] =>
  named(text, skipBlank(text.bytes, 0), 'messages')
    .flatMap(messages => membersAt(text, messages.valueStart))
    .flatMap(message =>
      named(text, message.valueStart, 'content').map(content => ({ path: `messages.${message.key}.content`, content })),
    )

const named = (text: Text, at: number, name: string): readonly Member[] =>
  membersAt(text, at).filter(({ key }) => key === name)

/** Claude rejects an empty list and an empty text. */
const filler = '[{"type":"text","text":"..."}]'
const encryptedText = Buffer.from(`"${signaturePrefix}`)
const rareText = encryptedText.subarray(-3)
const thinkingText = Buffer.from('"thinking"')
const colon = 0x3a
const comma = 0x2c
const quote = 0x22

/** Checks without parsing whether `body` may hold such blocks; false is certain. */
export const mayContainForeignThinking = (body: Buffer, { toClaude, members }: Options): boolean =>
  mayContainEncrypted(body) || (toClaude && mayContainThinking(body, members) && mayContainUnsigned(body))

const mayContainThinking = (body: Buffer, members: Options['members']): boolean =>
  members?.body !== body || (members.foundWords & wordBits.thinking) !== 0

/** Searches the rare text first: a search for text that starts with a quote stops at every quote. */
const mayContainEncrypted = (body: Buffer): boolean => body.includes(rareText) && body.includes(encryptedText)

/** False is certain. The text of a block cannot match, because its quotes are escaped. */
function mayContainUnsigned(body: Buffer): boolean {
  const text = openText(body)
  for (let at = body.indexOf(thinkingText); at >= 0; at = body.indexOf(thinkingText, at + thinkingText.length)) {
    if (isValue(body, at) && !isSignedAfter(text, at + thinkingText.length)) return true
  }
  return false
}

/** Reports whether the string at `at` is the value of a member, not a key. */
function isValue(body: Buffer, at: number): boolean {
  let before = at - 1
  while (before >= 0 && skipBlank(body, before) > before) before--
  return body[before] === colon
}

/** Reports whether a signature follows among the string members of the same object. */
function isSignedAfter(text: Text, valueEnd: number): boolean {
  const body = text.bytes
  let at = skipBlank(body, valueEnd)
  while (body[at] === comma) {
    const keyStart = skipBlank(body, at + 1)
    const keyEnd = stringEnd(text, keyStart)
    const valueStart = pastColon(body, keyEnd)
    const end = stringEnd(text, valueStart)
    if (end === malformed) return false
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
  const isEncrypted =
    signature.startsWith(signaturePrefix) || textOf(body, fields.get('data')).startsWith(signaturePrefix)
  return isEncrypted || (toClaude && type === 'thinking' && signature === '')
}

/** Returns the string value of a member; empty for any other value. */
function textOf(body: Buffer, member: Member | undefined): string {
  if (!member || body[member.valueStart] !== quote) return ''
  return JSON.parse(body.toString('utf8', member.valueStart, member.end)) as string
}

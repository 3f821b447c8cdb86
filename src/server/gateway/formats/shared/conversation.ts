import { addAll } from '../../../platform/add-all.ts'
import { invalid } from '../../../platform/errors.ts'
import { type Json, recordsOf } from '../../../platform/json.ts'
import type { ClientContext } from '../../core/client-format.ts'
import { allPlaced, placed, placeOfMessage } from '../../core/degradations.ts'
import { type Block, textBlocks } from './content-parts.ts'
import { withExtras } from './extras.ts'
import type { Note } from './settings.ts'
import type { ToolSet } from './tools.ts'

type Role = 'user' | 'assistant' | 'system'

interface Turn {
  readonly role: Role
  blocks: Block[]
}

interface Message {
  readonly role: Role
  readonly content: readonly Block[]
}

/** Builds a conversation that follows the rules of Anthropic's format. */
export interface Conversation {
  /** Adds blocks. Consecutive turns of one role are merged. `path` is that of the blocks in the client's request. */
  add(role: Role, blocks: readonly Block[], path: string): void
  /** Adds instructions: to the system prompt before the first turn, later as a system turn or in the user's turn. */
  addSystem(blocks: readonly Block[], path: string): void
  finish(): { readonly system: readonly Block[]; readonly messages: readonly Message[] }
}

/** Creates an empty conversation. `takesSystemTurns` is true for upstreams that accept system turns anywhere. */
export function createConversation(note: Note, takesSystemTurns = false): Conversation {
  const system: Block[] = []
  const turns: Turn[] = []

  return {
    add: (role, blocks, path) => append(turns, role, allPlaced(blocks, path)),
    addSystem(given, path) {
      const blocks = allPlaced(given, path)
      if (turns.length === 0) {
        addAll(system, blocks)
        return
      }
      if (blocks.length === 0) return
      if (takesSystemTurns) {
        append(turns, 'system', blocks)
        return
      }
      // Only some models accept a system turn within a conversation; the tag separates it from the user's text.
      note(path, 'moved_to_user')
      const marked = blocks.map(block => ({ ...block, text: `<system>\n${String(block['text'])}\n</system>` }))
      append(turns, 'user', marked)
    },
    finish() {
      const messages = withoutTrailingThinking(resultsAfterCalls(turns), note)
      if (messages.length === 0) {
        if (system.length === 0) throw invalid('request contains no messages')
        note('messages', 'system_as_user')
        return { system: [], messages: [{ role: 'user', content: system }] }
      }
      if (messages[0]?.role === 'assistant') {
        note('messages', 'user_turn_added')
        messages.unshift({ role: 'user', blocks: [...textBlocks('(The conversation so far is not shown.)')] })
      }
      return { system, messages: messages.map(messageOf) }
    },
  }
}

const messageOf = ({ role, blocks }: Turn): Message => placed({ role, content: blocks }, placeOfMessage(blocks[0]))

function append(turns: Turn[], role: Role, blocks: readonly Block[]): void {
  if (blocks.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) addAll(last.blocks, blocks)
  else turns.push({ role, blocks: [...blocks] })
}

/**
 * Moves each tool result to the start of the user turn that follows its call. Clients may send other messages in
 * between, which Anthropic's format rejects.
 */
function resultsAfterCalls(turns: Turn[]): Turn[] {
  if (turns.every(areResultsInPlace)) return turns
  const results = resultsByCaller(turns)
  if (results.size === 0) return turns
  const placed = new Set([...results.values()].flat())
  const arranged: Turn[] = []
  for (const turn of turns) {
    const rest = turn.blocks.filter(block => !placed.has(block))
    append(arranged, turn.role, rest)
    append(arranged, 'user', oneResultPerCall(results.get(turn) ?? []))
  }
  return arranged
}

/** Above this number of results in a turn, comparing all pairs is slower than rearranging. */
const maxPairwiseResults = 16

/** Returns true if the results of a turn are at its start, each for a different call of the previous turn. */
function areResultsInPlace({ blocks }: Turn, at: number, turns: readonly Turn[]): boolean {
  const results = blocks.filter(isResult)
  if (results.length === 0) return true
  const calls = turns[at - 1]?.blocks.filter(({ type }) => type === 'tool_use') ?? []
  if (Math.max(results.length, calls.length) > maxPairwiseResults) return false
  return results.every(
    (result, index) =>
      result === blocks[index] &&
      calls.some(({ id }) => id === result['tool_use_id']) &&
      results.findIndex(({ tool_use_id: id }) => id === result['tool_use_id']) === index,
  )
}

const isResult = ({ type }: Block): boolean => type === 'tool_result'

/** Returns the results of the calls in each turn. A result without an earlier call is left out. */
function resultsByCaller(turns: readonly Turn[]): ReadonlyMap<Turn, readonly Block[]> {
  const callers = new Map<unknown, Turn>()
  const results = new Map<Turn, Block[]>()
  for (const turn of turns) {
    for (const block of turn.blocks) {
      if (block.type === 'tool_use') callers.set(block['id'], turn)
      const caller = block.type === 'tool_result' ? callers.get(block['tool_use_id']) : undefined
      if (caller) results.set(caller, [...(results.get(caller) ?? []), block])
    }
  }
  return results
}

/**
 * Merges several results of one call: providers reject a request with more than one. Codex sends more than one when a
 * program reports intermediate output.
 */
function oneResultPerCall(results: readonly Block[]): readonly Block[] {
  const byCall = new Map<unknown, Block>()
  for (const result of results) {
    const id = result['tool_use_id']
    const first = byCall.get(id)
    byCall.set(id, first ? { ...first, content: [first['content'], result['content']].flat() } : result)
  }
  return [...byCall.values()]
}

/** Removes thinking at the end of assistant turns, which must not end with it. It comes from interrupted answers. */
function withoutTrailingThinking(turns: readonly Turn[], note: Note): Turn[] {
  const trimmed: Turn[] = []
  for (const { role, blocks } of turns) {
    const last = blocks.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
    const hasTrailingThinking = role === 'assistant' && last < blocks.length - 1
    if (hasTrailingThinking) note('reasoning', 'loose_dropped')
    const rest = hasTrailingThinking ? blocks.slice(0, last + 1) : blocks
    append(trimmed, role, rest)
  }
  return trimmed
}

interface Parts {
  readonly settings: Json
  readonly conversation: ReturnType<Conversation['finish']>
  /** Instructions added after those of the conversation. */
  readonly hints: readonly Block[]
  readonly tools: ToolSet
  readonly choice: Json
  /**
   * True when the client requests prompt caching, which Anthropic's format does only for marked prompts. No mark is added
   * to those of the client: Anthropic accepts four in a request.
   */
  readonly isCached: boolean
  /** Settings that the canonical request does not have but the upstream's format supports. */
  readonly extras: Json
}

/** Returns a canonical request. Keys have a fixed order: equal requests must give equal bytes, for prompt caches. */
export function canonicalRequest({ model, stream }: Pick<ClientContext, 'model' | 'stream'>, parts: Parts): Json {
  const { settings, conversation, hints, tools, choice, isCached, extras } = parts
  const system = [...conversation.system, ...hints]
  const { definitions } = tools
  const turns = conversation.messages.flatMap(({ content }) => content)
  return {
    model,
    ...settings,
    stream,
    ...(system.length > 0 && { system }),
    messages: conversation.messages,
    ...(definitions.length > 0 && { tools: definitions }),
    ...choice,
    ...(isCached && !isMarked([...system, ...turns, ...definitions]) && { cache_control: { type: 'ephemeral' } }),
    ...withExtras(extras),
  }
}

/** Returns true if a block or a tool, or a block inside of a result, has a cache mark. */
const isMarked = (parts: readonly Json[]): boolean =>
  parts.some(part => part['cache_control'] !== undefined || isMarked(recordsOf(part['content'])))

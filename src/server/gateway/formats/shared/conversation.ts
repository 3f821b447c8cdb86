import { invalid } from '../../../platform/errors.ts'
import type { Json } from '../../../platform/json.ts'
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

/** Puts a conversation together as Anthropic's format wants it. */
export interface Conversation {
  /** Turns of one role that follow each other become one. `path` is where the client has the blocks. */
  add(role: Role, blocks: readonly Block[], path: string): void
  /** Instructions: at the start they are the system prompt, later on a turn of their own or a part of the user's. */
  addSystem(blocks: readonly Block[], path: string): void
  finish(): { readonly system: readonly Block[]; readonly messages: readonly Message[] }
}

/** Starts an empty conversation. `takesSystemTurns` is true for formats with instructions in the middle of a conversation. */
export function createConversation(note: Note, takesSystemTurns = false): Conversation {
  const system: Block[] = []
  const turns: Turn[] = []

  return {
    add: (role, blocks, path) => append(turns, role, allPlaced(blocks, path)),
    addSystem(given, path) {
      const blocks = allPlaced(given, path)
      if (turns.length === 0) {
        system.push(...blocks)
        return
      }
      if (blocks.length === 0) return
      if (takesSystemTurns) {
        append(turns, 'system', blocks)
        return
      }
      // Only some models take a system turn in mid-conversation; the mark keeps it apart from what the user says.
      note(path, 'moved_to_user')
      const marked = blocks.map(block => ({ ...block, text: `<system>\n${String(block['text'])}\n</system>` }))
      append(turns, 'user', marked)
    },
    finish() {
      const messages = withoutLooseThinking(resultsAfterCalls(turns), note)
      if (messages.length === 0) {
        if (system.length === 0) throw invalid('the conversation holds nothing to answer')
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
  if (last?.role === role) last.blocks.push(...blocks)
  else turns.push({ role, blocks: [...blocks] })
}

/**
 * The turns with each tool result at the head of the user's turn right behind its call. Clients put other messages in
 * between, and Anthropic's format refuses that.
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
    append(arranged, 'user', oneForEachCall(results.get(turn) ?? []))
  }
  return arranged
}

/** With more results in a turn, a look at each pair would take longer than arranging them. */
const fewResults = 16

/** True for a turn whose few results stand at its head, one for each of some calls in the turn before. */
function areResultsInPlace({ blocks }: Turn, at: number, turns: readonly Turn[]): boolean {
  const results = blocks.filter(isResult)
  if (results.length === 0) return true
  const calls = turns[at - 1]?.blocks.filter(({ type }) => type === 'tool_use') ?? []
  if (Math.max(results.length, calls.length) > fewResults) return false
  return results.every(
    (result, index) =>
      result === blocks[index] &&
      calls.some(({ id }) => id === result['tool_use_id']) &&
      results.findIndex(({ tool_use_id: id }) => id === result['tool_use_id']) === index,
  )
}

const isResult = ({ type }: Block): boolean => type === 'tool_result'

/** The results of the calls in each turn. One without a call before it belongs to none. */
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
 * A call has one result, or providers refuse the request. Codex gives more than one when a program of the model reports
 * before its end: they are parts of the first.
 */
function oneForEachCall(results: readonly Block[]): readonly Block[] {
  const byCall = new Map<unknown, Block>()
  for (const result of results) {
    const id = result['tool_use_id']
    const first = byCall.get(id)
    byCall.set(id, first ? { ...first, content: [first['content'], result['content']].flat() } : result)
  }
  return [...byCall.values()]
}

/** An assistant's turn must not end with thinking: one that was broken off there is of no use to the model. */
function withoutLooseThinking(turns: readonly Turn[], note: Note): Turn[] {
  const kept: Turn[] = []
  for (const { role, blocks } of turns) {
    const last = blocks.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
    const isLoose = role === 'assistant' && last < blocks.length - 1
    if (isLoose) note('reasoning', 'loose_dropped')
    const rest = isLoose ? blocks.slice(0, last + 1) : blocks
    append(kept, role, rest)
  }
  return kept
}

interface Parts {
  readonly settings: Json
  readonly conversation: ReturnType<Conversation['finish']>
  /** Instructions behind those of the conversation. */
  readonly hints: readonly Block[]
  readonly tools: ToolSet
  readonly choice: Json
  /** True when the client names a cache for its prompt: Anthropic's format caches only what is marked. */
  readonly isCached: boolean
  /** Settings that Anthropic's vocabulary lacks, and the upstream's format has. */
  readonly extras: Json
}

/** A request in Anthropic's format. Its keys always come in the same order, so that equal requests give equal bytes. */
export function canonicalRequest({ model, stream }: Pick<ClientContext, 'model' | 'stream'>, parts: Parts): Json {
  const { settings, conversation, hints, tools, choice, isCached, extras } = parts
  const system = [...conversation.system, ...hints]
  return {
    model,
    ...settings,
    stream,
    ...(system.length > 0 && { system }),
    messages: conversation.messages,
    ...(tools.wire.length > 0 && { tools: tools.wire }),
    ...choice,
    ...(isCached && { cache_control: { type: 'ephemeral' } }),
    ...withExtras(extras),
  }
}

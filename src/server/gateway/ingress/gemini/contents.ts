import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import { type Block, textBlocks } from '../content-parts.ts'
import type { Conversation } from '../conversation.ts'
import type { Note } from '../settings.ts'
import { toolName } from '../tool-names.ts'
import { type Calls, createCalls } from './calls.ts'
import { field } from './either-spelling.ts'
import { functionResult } from './function-result.ts'
import { fileBlock, inlineBlock } from './media-blocks.ts'
import { carriedBlocks } from './thought-carrier.ts'

interface Target {
  readonly conversation: Conversation
  readonly note: Note
}

/** Adds the system instruction of a request to a conversation. */
export function addInstruction(instruction: unknown, { conversation, note }: Target): void {
  if (isAbsent(instruction)) return
  const path = 'systemInstruction'
  const parts = typeof instruction === 'string' ? [{ text: instruction }] : partsOf(instruction, path)
  for (const [at, part] of parts.entries()) {
    const text = recordOf(part)['text']
    if (typeof text === 'string') conversation.addSystem(textBlocks(text), path)
    else note(`${path}.parts.${at}`)
  }
}

/** Adds the contents of a request to a conversation. */
export function addContents(contents: readonly unknown[], { conversation, note }: Target): void {
  const calls = createCalls()
  const thoughts = createThoughts(note)
  for (const [at, content] of contents.entries()) {
    const path = `contents.${at}`
    const role = roleOf(recordOf(content)['role'], path)
    if (role === 'user') thoughts.lose()
    for (const [index, part] of partsOf(content, path).entries()) {
      const place = { path: `${path}.parts.${index}`, calls, note, thoughts }
      if (!isRecord(part)) throw invalid(`${place.path} must be an object`)
      conversation.add(role, role === 'user' ? userBlocks(part, place) : modelBlocks(part, place))
    }
  }
  thoughts.lose()
}

interface Place {
  readonly path: string
  readonly calls: Calls
  readonly note: Note
  readonly thoughts: Thoughts
}

function roleOf(role: unknown, path: string): 'user' | 'assistant' {
  if (role === 'model') return 'assistant'
  // An older form of the user's turn with results of functions.
  if (isAbsent(role) || role === '' || role === 'user' || role === 'function') return 'user'
  throw invalid(`${path}.role must be user or model`)
}

/** Google takes a single part for a list of one. */
function partsOf(content: unknown, path: string): readonly unknown[] {
  if (!isRecord(content)) throw invalid(`${path} must be an object`)
  const { parts } = content
  if (isAbsent(parts)) return []
  if (isRecord(parts)) return [parts]
  if (!Array.isArray(parts)) throw invalid(`${path}.parts must be an array`)
  return parts
}

function userBlocks(part: Json, place: Place): readonly Block[] {
  const response = field(part, 'functionResponse')
  if (isRecord(response)) return functionResult(response, { ...place, path: `${place.path}.functionResponse` })
  const inline = field(part, 'inlineData')
  if (isRecord(inline)) return [inlineBlock(inline, `${place.path}.inlineData`)]
  const file = field(part, 'fileData')
  if (isRecord(file)) return [fileBlock(file, `${place.path}.fileData`)]
  return words(part, place)
}

function modelBlocks(part: Json, place: Place): readonly Block[] {
  const { path, note, thoughts } = place
  const signature = textIn(field(part, 'thoughtSignature'))
  const carried = signature === undefined ? undefined : carriedBlocks(signature)
  if (carried) thoughts.keep()
  else if (signature !== undefined && signature !== unknownSignature) note(`${path}.thoughtSignature`)
  if (part['thought'] === true) {
    if (!carried) thoughts.add(path)
    return carried ?? []
  }
  const call = field(part, 'functionCall')
  return [...(carried ?? []), ...(isRecord(call) ? [callBlock(call, place)] : words(part, place))]
}

/** Google's documented word for a call whose signature is not known. */
const unknownSignature = 'skip_thought_signature_validator'

function callBlock({ id, name, args }: Json, { path, calls }: Place): Block {
  if (typeof name !== 'string' || name === '') throw invalid(`${path}.functionCall.name must be a string`)
  if (!isAbsent(args) && !isRecord(args)) throw invalid(`${path}.functionCall.args must be an object`)
  const callId = calls.add(name, textIn(id), path.replaceAll('.', '_'))
  return { type: 'tool_use', id: callId, name: toolName(name), input: args ?? {} }
}

/** What every model can read of a part as text; anything else is taken down. */
function words(part: Json, { path, note }: Place): readonly Block[] {
  const { text } = part
  if (typeof text === 'string') return textBlocks(text)
  if (!isAbsent(text)) throw invalid(`${path}.text must be a string`)
  const code = field(part, 'executableCode')
  const result = field(part, 'codeExecutionResult')
  const [kind] = Object.keys(part)
  if (kind !== undefined) note(path, isRecord(code) || isRecord(result) ? 'approximated' : 'dropped')
  if (isRecord(code)) return textBlocks(`Code that was run:\n${String(code['code'])}`)
  return isRecord(result) ? textBlocks(`What it gave:\n${String(result['output'])}`) : []
}

/** Thoughts stand in a model's turn twice: in words, which are for people, and in a signature behind them. */
interface Thoughts {
  add(path: string): void
  /** A signature holds them. */
  keep(): void
  /** The turn is over: those that no signature held are lost. */
  lose(): void
}

function createThoughts(note: Note): Thoughts {
  let waiting: string[] = []
  return {
    add: path => void waiting.push(path),
    keep: () => void waiting.splice(0),
    lose() {
      for (const path of waiting) note(path)
      waiting = []
    },
  }
}

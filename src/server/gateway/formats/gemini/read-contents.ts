import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, listOf, recordOf, textIn } from '../../../platform/json.ts'
import { type Block, resultBlock, textBlocks } from '../shared/content-parts.ts'
import type { Conversation } from '../shared/conversation.ts'
import type { Note } from '../shared/settings.ts'
import { toolName } from '../shared/tools.ts'
import { carriedBlocks } from './carried-state.ts'
import { field } from './fields.ts'
import { type Calls, createCalls } from './read-tools.ts'

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
      conversation.add(role, role === 'user' ? userBlocks(part, place) : modelBlocks(part, place), place.path)
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

interface ResultPlace {
  readonly path: string
  readonly calls: Calls
  readonly note: Note
}

/** What a function gave: a result behind its call, or plain text when the conversation does not hold that call. */
function functionResult(result: Json, { path, calls, note }: ResultPlace): readonly Block[] {
  const { id, name, response, parts } = result
  if (typeof name !== 'string' && typeof id !== 'string') throw invalid(`${path}.name must be a string`)
  if (!isAbsent(response) && !isRecord(response)) throw invalid(`${path}.response must be an object`)
  const { text, isError } = said(recordOf(response))
  const content = [...textBlocks(text), ...listOf(parts).flatMap((part, at) => media(part, `${path}.parts.${at}`))]
  const callId = calls.answeredBy(textIn(name), textIn(id))
  if (callId === undefined) {
    note(path, 'approximated')
    return [...textBlocks(`Result of an earlier call of ${textIn(name) ?? 'a tool'}:`), ...content]
  }
  return [{ ...resultBlock(callId, content, `${path}.id`), ...(isError && { is_error: true }) }]
}

/** By Google's rules `output` holds the result and `error` what went wrong; without either, all of it is the result. */
function said(response: Json): { readonly text: string; readonly isError: boolean } {
  const entries = Object.entries(response)
  const [only] = entries
  if (!only || entries.length > 1) return { text: only ? JSON.stringify(response) : '', isError: 'error' in response }
  const [name, value] = only
  const isKnown = name === 'output' || name === 'result' || name === 'error'
  if (!isKnown) return { text: JSON.stringify(response), isError: false }
  return { text: typeof value === 'string' ? value : JSON.stringify(value), isError: name === 'error' }
}

function media(part: unknown, path: string): readonly Block[] {
  const inline = field(recordOf(part), 'inlineData')
  if (!isRecord(inline)) throw invalid(`${path} must have inlineData`)
  return [inlineBlock(inline, `${path}.inlineData`)]
}

/** An image, a PDF or a text that stands in the request itself. */
function inlineBlock(inline: Json, path: string): Block {
  const { data } = inline
  const type = textIn(field(inline, 'mimeType'))
  if (typeof data !== 'string') throw invalid(`${path}.data must be a string of base64`)
  if (type === undefined) throw invalid(`${path}.mimeType must be a string`)
  const [media = ''] = type.toLowerCase().split(';')
  if (media.startsWith('text/') || media === 'application/json') {
    const text = Buffer.from(data, 'base64').toString()
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }
  }
  // Some clients write the alphabet for addresses, which other providers refuse.
  const source = { type: 'base64', media_type: media, data: data.replaceAll('-', '+').replaceAll('_', '/') }
  return { type: kindOf(media, `${path}.mimeType`), source }
}

/** Files that Google keeps for its clients: nobody else can read them. */
const googleFile = /^https?:\/\/(?:[\w.-]+\.)?googleapis\.com\//i

/** A file at a web address. */
function fileBlock(file: Json, path: string): Block {
  const url = textIn(field(file, 'fileUri'))
  if (url === undefined) throw invalid(`${path}.fileUri must be a string`)
  if (!/^https?:\/\//i.test(url) || googleFile.test(url))
    throw invalid(`${path}.fileUri: stored files cannot be read here; send the data as inlineData`)
  const type = textIn(field(file, 'mimeType')) ?? 'application/pdf'
  return { type: kindOf(type.toLowerCase(), `${path}.mimeType`), source: { type: 'url', url } }
}

function kindOf(type: string, path: string): 'image' | 'document' {
  if (type.startsWith('image/')) return 'image'
  if (type === 'application/pdf') return 'document'
  throw invalid(`${path} ${type.slice(0, 100)} cannot be read by this model`)
}

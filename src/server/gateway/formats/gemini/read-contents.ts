import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, listOf, recordOf, textIn } from '../../../platform/json.ts'
import { signaturePlaceholder } from '../shared/call-signatures.ts'
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
    if (role === 'user') thoughts.endTurn()
    for (const [index, part] of partsOf(content, path).entries()) {
      const place = { path: `${path}.parts.${index}`, calls, note, thoughts }
      if (!isRecord(part)) throw invalid(`${place.path} must be an object`)
      conversation.add(role, role === 'user' ? userBlocks(part, place) : modelBlocks(part, place), place.path)
    }
  }
  thoughts.endTurn()
}

interface Place {
  readonly path: string
  readonly calls: Calls
  readonly note: Note
  readonly thoughts: Thoughts
}

function roleOf(role: unknown, path: string): 'user' | 'assistant' {
  if (role === 'model') return 'assistant'
  // `function` is an older role of turns with function results.
  if (isAbsent(role) || role === '' || role === 'user' || role === 'function') return 'user'
  throw invalid(`${path}.role must be user or model`)
}

/** Returns the parts of a content. Google accepts a single part instead of a list. */
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
  return plainTextBlocks(part, place)
}

function modelBlocks(part: Json, place: Place): readonly Block[] {
  const { path, note, thoughts } = place
  const signature = textIn(field(part, 'thoughtSignature'))
  const carried = signature === undefined ? undefined : carriedBlocks(signature)
  if (carried) thoughts.restore()
  else if (signature !== undefined && signature !== signaturePlaceholder) note(`${path}.thoughtSignature`)
  if (part['thought'] === true) {
    if (!carried) thoughts.add(path)
    return carried ?? []
  }
  const call = field(part, 'functionCall')
  return [...(carried ?? []), ...(isRecord(call) ? [callBlock(call, place)] : plainTextBlocks(part, place))]
}

function callBlock({ id, name, args }: Json, { path, calls }: Place): Block {
  if (typeof name !== 'string' || name === '') throw invalid(`${path}.functionCall.name must be a string`)
  if (!isAbsent(args) && !isRecord(args)) throw invalid(`${path}.functionCall.args must be an object`)
  const callId = calls.add(name, textIn(id), path.replaceAll('.', '_'))
  return { type: 'tool_use', id: callId, name: toolName(name), input: args ?? {} }
}

/** Returns a part as text blocks. A part that is not text is recorded as a degradation. */
function plainTextBlocks(part: Json, { path, note }: Place): readonly Block[] {
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

/** Thoughts of a model's turn. A turn contains them twice: as text for people, and in a later signature. */
interface Thoughts {
  add(path: string): void
  /** Marks the added thoughts as restored from a signature. */
  restore(): void
  /** Ends the turn. Thoughts that were not restored are recorded as dropped. */
  endTurn(): void
}

function createThoughts(note: Note): Thoughts {
  let pending: string[] = []
  return {
    add: path => void pending.push(path),
    restore: () => void pending.splice(0),
    endTurn() {
      for (const path of pending) note(path)
      pending = []
    },
  }
}

interface ResultPlace {
  readonly path: string
  readonly calls: Calls
  readonly note: Note
}

/** Converts a function response to a tool result, or to text if the conversation does not contain its call. */
function functionResult(result: Json, { path, calls, note }: ResultPlace): readonly Block[] {
  const { id, name, response, parts } = result
  if (typeof name !== 'string' && typeof id !== 'string') throw invalid(`${path}.name must be a string`)
  if (!isAbsent(response) && !isRecord(response)) throw invalid(`${path}.response must be an object`)
  const { text, isError } = resultIn(recordOf(response))
  const content = [...textBlocks(text), ...listOf(parts).flatMap((part, at) => media(part, `${path}.parts.${at}`))]
  const callId = calls.answeredBy(textIn(name), textIn(id))
  if (callId === undefined) {
    note(path, 'approximated')
    return [...textBlocks(`Result of an earlier call of ${textIn(name) ?? 'a tool'}:`), ...content]
  }
  return [{ ...resultBlock(callId, content, `${path}.id`), ...(isError && { is_error: true }) }]
}

/** Reads a response. By Google's rules `output` is the result and `error` the error; without them, all of it. */
function resultIn(response: Json): { readonly text: string; readonly isError: boolean } {
  // Some clients send both fields, one of them null.
  const entries = Object.entries(response).filter(([name, value]) => name !== 'error' || !isAbsent(value))
  const [only] = entries
  const isError = entries.some(([name]) => name === 'error')
  if (!only || entries.length > 1) return { text: only ? JSON.stringify(response) : '', isError }
  const [name, value] = only
  const isKnown = name === 'output' || name === 'result' || name === 'error'
  return { text: isKnown && typeof value === 'string' ? value : JSON.stringify(isKnown ? value : response), isError }
}

function media(part: unknown, path: string): readonly Block[] {
  const inline = field(recordOf(part), 'inlineData')
  if (!isRecord(inline)) throw invalid(`${path} must have inlineData`)
  return [inlineBlock(inline, `${path}.inlineData`)]
}

/** Converts inline data: an image, a PDF or a text. */
function inlineBlock(inline: Json, path: string): Block {
  const { data } = inline
  const type = textIn(field(inline, 'mimeType'))
  if (typeof data !== 'string') throw invalid(`${path}.data must be a base64 string`)
  if (type === undefined) throw invalid(`${path}.mimeType must be a string`)
  const [media = ''] = type.toLowerCase().split(';')
  if (media.startsWith('text/') || media === 'application/json') {
    const text = Buffer.from(data, 'base64').toString()
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }
  }
  // Some clients send base64url, which other providers reject.
  const source = { type: 'base64', media_type: media, data: data.replaceAll('-', '+').replaceAll('_', '/') }
  return { type: kindOf(media, `${path}.mimeType`), source }
}

/** Files stored at Google, which other providers cannot read. */
const googleFile = /^https?:\/\/(?:[\w.-]+\.)?googleapis\.com\//i

/** Converts a file at a web address. */
function fileBlock(file: Json, path: string): Block {
  const url = textIn(field(file, 'fileUri'))
  if (url === undefined) throw invalid(`${path}.fileUri must be a string`)
  if (!/^https?:\/\//i.test(url) || googleFile.test(url))
    throw invalid(`${path}.fileUri must be a public http(s) URL; send stored files as inlineData`)
  const type = textIn(field(file, 'mimeType')) ?? 'application/pdf'
  return { type: kindOf(type.toLowerCase(), `${path}.mimeType`), source: { type: 'url', url } }
}

function kindOf(type: string, path: string): 'image' | 'document' {
  if (type.startsWith('image/')) return 'image'
  if (type === 'application/pdf') return 'document'
  throw invalid(`${path} ${type.slice(0, 100)} is not supported for this model`)
}

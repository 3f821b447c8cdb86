import { type Member, membersAt } from '../bytes/json-members.ts'
import { openText, type Span, skipBlank, type Text } from '../bytes/json-scanner.ts'

/** What a part of a request is to the model. */
export type PartType =
  | 'image'
  | 'document'
  | 'container_upload'
  | 'file'
  | 'input_file'
  | 'input_image'
  | 'code_interpreter'
  | 'fileData'

/** Reports whether only code of the provider reads the file, so that no content replaces its id. */
export const isForContainer = (type: PartType): boolean => type === 'container_upload' || type === 'code_interpreter'

/** Reference of a request to a file of this service. */
export interface FileReference {
  /** Path of the id in the request, for errors. */
  readonly path: string
  readonly id: string
  /** The string with the id. */
  readonly idSpan: Span
  /** The value that content replaces: a `source`, or the whole part. */
  readonly span: Span
  readonly type: PartType
}

/** Kinds of calls whose requests may refer to files. */
const kinds: ReadonlySet<string> = new Set([
  'messages',
  'count_tokens',
  'chat',
  'responses',
  'responses_count',
  'responses_compact',
  'gemini',
  'gemini_count',
])

/** Ids begin with the time, whose first digit stays 0 until the year 2527. */
const mark = Buffer.from('file_0')
/** Rarer than the first letter of the mark, and so found faster or not at all. */
const rareText = mark.subarray(-2)
const ownId = /^file_[0-9a-f]{32}$/
/** Levels of content in content, as in tool results. */
const maxDepth = 4
const quote = 0x22

/** Checks without parsing whether a request may refer to a file; false is certain. */
export const mayReferToFiles = (kind: string, body: Buffer): boolean =>
  kinds.has(kind) && body.includes(rareText) && body.includes(mark)

/**
 * Finds the references to files of this service in a valid request. Ids of providers, which have another form, and ids
 * elsewhere in the request, such as in texts, are none.
 */
export function fileReferencesIn(body: Buffer): readonly FileReference[] {
  const text = openText(body)
  const found: FileReference[] = []
  for (const member of membersAt(text, skipBlank(body, 0)))
    addMember({ text, found, path: member.key, depth: 0 }, member)
  return found
}

function addMember(place: Place, member: Member): void {
  switch (member.key) {
    case 'messages':
    case 'input':
      addLists(place, member, { names: ['content', 'output'], add: addParts })
      break
    case 'tools':
      addTools(place, member)
      break
    case 'contents':
      addLists(place, member, { names: ['parts'], add: addGeminiParts })
      break
    case 'generateContentRequest':
    case 'generate_content_request':
      for (const inner of membersAt(place.text, member.valueStart))
        if (inner.key === 'contents') addMember({ ...place, path: `${place.path}.contents` }, inner)
  }
}

interface Lists {
  /** Fields of an item that have a list. */
  readonly names: readonly string[]
  readonly add: (place: Place, list: Member) => void
}

function addLists(place: Place, { valueStart }: Member, { names, add }: Lists): void {
  for (const item of membersAt(place.text, valueStart))
    for (const field of membersAt(place.text, item.valueStart))
      if (names.includes(field.key)) add({ ...place, path: `${place.path}.${item.key}.${field.key}` }, field)
}

function addTools(place: Place, { valueStart }: Member): void {
  for (const tool of membersAt(place.text, valueStart)) {
    const fields = fieldsOf(place.text, tool)
    const container = fields.get('container')
    if (textAt(place.text, fields.get('type')) !== 'code_interpreter' || !container) continue
    const ids = fieldsOf(place.text, container).get('file_ids')
    for (const id of ids ? membersAt(place.text, ids.valueStart) : []) {
      const path = `${place.path}.${tool.key}.container.file_ids.${id.key}`
      addId(place, { type: 'code_interpreter', span: spanOf(id), id, path })
    }
  }
}

function addGeminiParts(place: Place, { valueStart }: Member): void {
  for (const part of membersAt(place.text, valueStart)) {
    const field = membersAt(place.text, part.valueStart).find(({ key }) => key === 'fileData' || key === 'file_data')
    const uri =
      field && membersAt(place.text, field.valueStart).find(({ key }) => key === 'fileUri' || key === 'file_uri')
    const path = `${place.path}.${part.key}.${field?.key}.${uri?.key}`
    addId(place, { type: 'fileData', span: spanOf(part), id: uri, path })
  }
}

interface Place {
  readonly text: Text
  readonly found: FileReference[]
  /** Path of the list of parts. */
  readonly path: string
  readonly depth: number
}

function addParts({ text, found, path, depth }: Place, { valueStart }: Member): void {
  if (depth === maxDepth) return
  for (const part of membersAt(text, valueStart))
    addPart({ text, found, path: `${path}.${part.key}`, depth: depth + 1 }, part)
}

function addPart(place: Place, part: Member): void {
  const { text } = place
  const fields = fieldsOf(text, part)
  const type = textAt(text, fields.get('type'))
  switch (type) {
    case 'image':
    case 'document':
      addSource(place, type, fields.get('source'))
      break
    case 'tool_result':
      addInner(place, 'content', fields.get('content'))
      break
    case 'container_upload':
    case 'input_file':
    case 'input_image':
      addId(place, { type, span: spanOf(part), id: fields.get('file_id'), path: `${place.path}.file_id` })
      break
    case 'file': {
      const inner = fields.get('file')
      const id = inner && fieldsOf(text, inner).get('file_id')
      addId(place, { type, span: spanOf(part), id, path: `${place.path}.file.file_id` })
    }
  }
}

function addSource(place: Place, type: 'image' | 'document', source: Member | undefined): void {
  if (!source) return
  const fields = fieldsOf(place.text, source)
  const sourceType = textAt(place.text, fields.get('type'))
  if (sourceType === 'content') addInner(place, 'source.content', fields.get('content'))
  if (sourceType !== 'file') return
  addId(place, { type, span: spanOf(source), id: fields.get('file_id'), path: `${place.path}.source.file_id` })
}

function addInner(place: Place, name: string, content: Member | undefined): void {
  if (content) addParts({ ...place, path: `${place.path}.${name}` }, content)
}

interface Candidate extends Pick<FileReference, 'type' | 'span' | 'path'> {
  readonly id: Member | undefined
}

function addId({ text, found }: Place, { id: member, ...rest }: Candidate): void {
  const id = textAt(text, member)
  if (member && ownId.test(id)) found.push({ ...rest, id, idSpan: spanOf(member) })
}

const fieldsOf = (text: Text, { valueStart }: Member): ReadonlyMap<string, Member> =>
  new Map(membersAt(text, valueStart).map(member => [member.key, member]))

const spanOf = ({ valueStart, end }: Member): Span => ({ start: valueStart, end })

/** Enough for a type or an id with every character as an escape. */
const maxTextBytes = 300

/** Returns the string value of a member; empty for any other value, and for a long string. */
function textAt({ bytes }: Text, member: Member | undefined): string {
  if (!member || bytes[member.valueStart] !== quote || member.end - member.valueStart > maxTextBytes) return ''
  return JSON.parse(bytes.toString('utf8', member.valueStart, member.end)) as string
}

import type { IncomingMessage } from 'node:http'
import { fileLifetimeS, filePurposes } from '../../contract/stored-files.ts'
import { receivedChunks } from '../http/received-chunks.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { boundaryOf } from '../platform/form-data.ts'
import { type FormPart, formParts } from '../platform/form-parts.ts'
import { addText } from '../platform/form-texts.ts'
import { fileNameIn } from './file-name-in.ts'
import { type Files, maxFileBytes, type ReceivedContent } from './files.ts'

/** Room for the fields of the form and the headers of its parts. */
const maxFormBytes = maxFileBytes + 1024 * 1024
/** Purpose of files that are uploaded in Anthropic's format, which has none. */
const defaultPurpose = 'user_data'

interface Target {
  readonly files: Pick<Files, 'receive' | 'discard'>
  readonly owner: string
  readonly vendor: 'anthropic' | 'openai'
}

/** An uploaded file whose content is stored. */
export interface Upload {
  readonly received: ReceivedContent
  readonly filename: string
  readonly mediaType: string | undefined
  readonly purpose: string
  readonly expiresInS: number | undefined
  /** Fields of the form without effect. */
  readonly ignored: readonly string[]
}

/** Reads a form with one file, and stores its content while it arrives. When it fails, nothing is left. */
export async function receiveUpload(request: IncomingMessage, { files, owner, vendor }: Target): Promise<Upload> {
  const boundary = boundaryOf(request.headers['content-type'])
  if (boundary === undefined)
    throw new AppError('unsupported_media_type', 'content type must be multipart/form-data with a boundary')
  if (Number(request.headers['content-length'] ?? 0) > maxFormBytes) throw tooLarge()
  const texts = new Map<string, string>()
  let received: ReceivedContent | undefined
  let head: Pick<FormPart, 'filename' | 'contentType'> | undefined
  try {
    for await (const part of formParts(receivedChunks(request), { boundary, maxBytes: maxFormBytes })) {
      if (part.isFile || part.name === 'file') {
        rejectPart(part, received !== undefined)
        received = await files.receive(owner, part.content)
        head = part
      } else await addText(texts, part)
    }
    if (!received || !head) throw invalid('file is required: the form has no part "file"')
    return {
      received,
      filename: fileNameIn(head.filename),
      mediaType: head.contentType,
      ...fieldsOf(texts, vendor),
    }
  } catch (error) {
    if (received) await files.discard(received)
    throw error
  }
}

function rejectPart({ name, isFile }: FormPart, hasFile: boolean): void {
  if (name !== 'file')
    throw invalid(`form field ${JSON.stringify(name.slice(0, 64))} is a file; send the file as "file"`)
  if (!isFile) throw invalid('form field file has no filename; send the file as a file')
  if (hasFile) throw invalid('the form has two files; upload one file per request')
}

const anchorField = 'expires_after[anchor]'
const secondsField = 'expires_after[seconds]'
const lifetimeField = 'expires_in_seconds'
const ownFields = {
  anthropic: new Set([lifetimeField]),
  openai: new Set(['purpose', anchorField, secondsField]),
} as const satisfies Record<Target['vendor'], ReadonlySet<string>>

function fieldsOf(
  texts: ReadonlyMap<string, string>,
  vendor: Target['vendor'],
): Pick<Upload, 'purpose' | 'expiresInS' | 'ignored'> {
  const ignored = [...texts.keys()].filter(name => !ownFields[vendor].has(name))
  if (vendor === 'openai') return { purpose: purposeOf(texts.get('purpose')), expiresInS: lifetimeOf(texts), ignored }
  const lifetime = texts.get(lifetimeField)
  const expiresInS = lifetime === undefined ? undefined : secondsIn(lifetimeField, lifetime, fileLifetimeS.anthropic)
  return { purpose: defaultPurpose, expiresInS, ignored }
}

function purposeOf(text: string | undefined): string {
  if (text === undefined) throw invalid(`purpose is required: ${filePurposes.join(', ')}`)
  const purpose = filePurposes.find(name => name === text)
  if (!purpose) throw invalid(`purpose ${JSON.stringify(text.slice(0, 64))} must be one of ${filePurposes.join(', ')}`)
  return purpose
}

function lifetimeOf(texts: ReadonlyMap<string, string>): number | undefined {
  const [anchor, seconds] = [texts.get(anchorField), texts.get(secondsField)]
  if (anchor === undefined && seconds === undefined) return undefined
  if (anchor !== 'created_at') throw invalid(`${anchorField} must be created_at`)
  return secondsIn(secondsField, seconds ?? '', fileLifetimeS.openai)
}

function secondsIn(field: string, text: string, max: number): number {
  const number = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0
  if (number < fileLifetimeS.min || number > max)
    throw invalid(`${field} must be a whole number from ${fileLifetimeS.min} to ${max}`)
  return number
}

const tooLarge = (): AppError => new AppError('payload_too_large', `file exceeds ${maxFileBytes} bytes`)

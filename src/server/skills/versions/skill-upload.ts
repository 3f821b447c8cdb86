import type { IncomingMessage } from 'node:http'
import { maxSkillFileBytes, maxSkillFiles, skillFolderRoutes } from '../../../contract/skill-folders.ts'
import { receivedChunks } from '../../http/received-chunks.ts'
import type { vendorOf } from '../../http/vendor.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { boundaryOf } from '../../platform/form-data.ts'
import { type FormPart, formParts } from '../../platform/form-parts.ts'
import { addText } from '../../platform/form-texts.ts'
import { isZip, unzip } from '../../platform/zip.ts'
import { type SkillFolder, skillFolderOf, type UploadedFile } from './skill-folder.ts'

interface Form {
  readonly vendor: ReturnType<typeof vendorOf>
  /** What the request creates. */
  readonly kind: 'skill' | 'version'
}

/** A folder that was sent, and the other fields of its form. */
export interface SkillUpload {
  readonly folder: SkillFolder
  readonly displayName: string | undefined
  readonly isDefault: boolean
  /** Fields of the form without effect. */
  readonly ignored: readonly string[]
}

const maxBytes = skillFolderRoutes.create.bodyLimit
const fileFields: ReadonlySet<string> = new Set(['files', 'files[]'])

/** Text fields of a form, by vendor and by what it creates. */
const textFields = {
  anthropic: { skill: new Set(['display_name', 'display_title']), version: new Set<string>() },
  openai: { skill: new Set<string>(), version: new Set(['default']) },
} as const satisfies Record<Form['vendor'], Record<Form['kind'], ReadonlySet<string>>>

/** Reads a form with the files of a skill, or with one zip archive of them. Throws before anything is stored. */
export async function receiveSkill(request: IncomingMessage, { vendor, kind }: Form): Promise<SkillUpload> {
  const boundary = boundaryOf(request.headers['content-type'])
  if (boundary === undefined)
    throw new AppError(
      'unsupported_media_type',
      'content type must be multipart/form-data with a boundary; send the files of the skill as files[]',
    )
  if (Number(request.headers['content-length'] ?? 0) > maxBytes)
    throw new AppError('payload_too_large', `request body exceeds ${maxBytes} bytes`)
  const texts = new Map<string, string>()
  const files: UploadedFile[] = []
  for await (const part of formParts(receivedChunks(request), { boundary, maxBytes })) {
    if (part.isFile || fileFields.has(part.name)) files.push(await fileIn(part, files.length))
    else await addText(texts, part)
  }
  const known: ReadonlySet<string> = textFields[vendor][kind]
  return {
    folder: skillFolderOf(await unpacked(files)),
    displayName: known.has('display_name') ? nameIn(texts) : undefined,
    isDefault: known.has('default') && booleanIn('default', texts.get('default')),
    ignored: [...texts.keys()].filter(name => !known.has(name)),
  }
}

async function fileIn({ name, isFile, filename = '', content }: FormPart, count: number): Promise<UploadedFile> {
  const field = JSON.stringify(name.slice(0, 64))
  if (!fileFields.has(name)) throw invalid(`form field ${field} is a file; send files as files[]`)
  if (!isFile || filename === '') throw invalid(`form field ${field} has no filename, such as my-skill/SKILL.md`)
  if (count === maxSkillFiles) throw invalid(`files: more than ${maxSkillFiles} files`)
  return { path: filename, content: Buffer.concat(await Array.fromAsync(content)) }
}

/** Returns the files of an archive if one was sent, else the files. */
async function unpacked(files: readonly UploadedFile[]): Promise<readonly UploadedFile[]> {
  const [only, another] = files
  if (!only || another || !isZip(only.content)) return files
  return unzip(only.content, { maxFiles: maxSkillFiles, maxBytes: maxSkillFileBytes })
}

/** An empty name is that in SKILL.md; clients send null as a word. */
function nameIn(texts: ReadonlyMap<string, string>): string | undefined {
  const name = texts.get('display_name') ?? texts.get('display_title')
  return name === '' || name === 'null' ? undefined : name
}

function booleanIn(field: string, text: string | undefined): boolean {
  if (text === undefined || text === 'false') return false
  if (text === 'true') return true
  throw invalid(`${field} must be true or false`)
}

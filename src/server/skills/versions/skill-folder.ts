import { maxFileInSkillBytes, maxSkillFileBytes, maxSkillFiles } from '../../../contract/skill-folders.ts'
import { maxSkillBytes } from '../../../contract/skills.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { checkedContent } from '../content.ts'
import { readSkillFile } from '../skill-file.ts'
import type { SkillFields } from '../store.ts'

/** A file of an upload. */
export interface UploadedFile {
  /** As sent, with the top folder. */
  readonly path: string
  readonly content: Buffer
}

/** The files of a skill without their top folder, and what its SKILL.md says. */
export interface SkillFolder extends SkillFields {
  readonly files: readonly UploadedFile[]
}

/** The file with the instructions. */
export const skillFile = 'SKILL.md'

const maxPathLength = 500
/** Of a file or folder, in bytes, as file systems have it. */
const maxNameBytes = 255
/** Of SKILL.md: the instructions and the front matter. */
const maxFileBytes = maxSkillBytes + 20_000
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Checks the files of a skill: one top folder with a SKILL.md in it, safe and different paths. Throws `invalid_request`,
 * naming the file.
 */
export function skillFolderOf(uploaded: readonly UploadedFile[]): SkillFolder {
  checkSizes(uploaded)
  const top = topFolderOf(uploaded)
  const files = uploaded.map(({ path, content }) => ({ path: path.slice(top.length + 1), content }))
  checkDistinct(files)
  const file = files.find(({ path }) => path === skillFile)
  if (!file) throw invalid(`files: ${quoted(`${top}/${skillFile}`)} is missing`)
  return { ...fieldsIn(file.content, `${top}/${skillFile}`), files }
}

function checkSizes(uploaded: readonly UploadedFile[]): void {
  if (uploaded.length === 0) throw invalid('files is required: send SKILL.md and the other files of the skill')
  if (uploaded.length > maxSkillFiles) throw invalid(`files: more than ${maxSkillFiles} files`)
  const bytes = uploaded.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes > maxSkillFileBytes) throw invalid(`files exceed ${maxSkillFileBytes} bytes`)
  for (const { path, content } of uploaded) {
    if (content.length > maxFileInSkillBytes)
      throw invalid(`files: ${quoted(path)} exceeds ${maxFileInSkillBytes} bytes`)
  }
}

function topFolderOf(uploaded: readonly UploadedFile[]): string {
  let top: string | undefined
  for (const { path } of uploaded) {
    checkPath(path)
    const slash = path.indexOf('/')
    if (slash < 0) throw invalid(`files: ${quoted(path)} is not in a folder; name it like my-skill/${skillFile}`)
    top ??= path.slice(0, slash)
    if (path.slice(0, slash) !== top)
      throw invalid(`files: ${quoted(path)} is not in the folder ${quoted(top)} of the file before it`)
  }
  return top ?? ''
}

function checkPath(path: string): void {
  const problem = pathProblem(path)
  if (problem) throw invalid(`files: ${quoted(path)} ${problem}`)
}

function pathProblem(path: string): string | undefined {
  if (path.length > maxPathLength) return `has a path of more than ${maxPathLength} characters`
  if (/[\p{C}\p{Zl}\p{Zp}\\]/u.test(path)) return 'has a backslash or a control character in its path'
  if (path.startsWith('/')) return 'has an absolute path'
  const names = path.split('/')
  if (names.some(name => Buffer.byteLength(name) > maxNameBytes)) return `has a name of more than ${maxNameBytes} bytes`
  const isUnsafe = names.some(name => name === '' || name === '.' || name === '..')
  return isUnsafe ? 'has an empty name, . or .. in its path' : undefined
}

/** Some systems do not distinguish upper and lower case, so neither may two paths. */
function checkDistinct(files: readonly UploadedFile[]): void {
  const keys = new Set<string>()
  for (const { path } of files) {
    const key = folded(path)
    if (keys.has(key)) throw invalid(`files: ${quoted(path)} is given twice; upper and lower case do not differ`)
    keys.add(key)
  }
  for (const { path } of files) {
    const within = foldersOf(folded(path)).find(folder => keys.has(folder))
    if (within !== undefined) throw invalid(`files: ${quoted(path)} is in ${quoted(within)}, which is a file`)
  }
}

const folded = (path: string): string => path.normalize('NFC').toLowerCase()

function foldersOf(path: string): string[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, at) => names.slice(0, at + 1).join('/'))
}

function fieldsIn(content: Buffer, path: string): SkillFields {
  if (content.length > maxFileBytes) throw invalid(`files: ${quoted(path)} exceeds ${maxFileBytes} bytes`)
  try {
    const fields = readSkillFile(utf8.decode(content))
    return { ...fields, content: checkedContent(fields.content) }
  } catch (cause) {
    const problem = cause instanceof AppError ? cause.message.replace(/^text:? /, '') : 'is not text in UTF-8'
    throw new AppError('invalid_request', `files: ${quoted(path)}: ${problem}`, { cause })
  }
}

const quoted = (path: string): string => JSON.stringify(path.slice(0, 200))

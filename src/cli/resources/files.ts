import { createWriteStream, openAsBlob } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Argument, type Command, Option } from 'commander'
import type { Result } from '../../contract/route.ts'
import { filePurposes, type OpenAiFile, storedFileRoutes } from '../../contract/stored-files.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { dim } from '../out.ts'
import { someText } from '../parse.ts'
import { plainLine } from '../plain-text.ts'
import { type Registry, withExamples } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import { ago, done, printFields, rows } from './show.ts'

const which: FieldArgument = { field: 'file_id', name: 'file', text: 'id of the file' }

/** Adds `files`. */
export function addFileCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'files', 'files for model requests, prompts of sessions and batches', [
    'switchyard files upload report.pdf',
    'switchyard files ls',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: storedFileRoutes.list,
    text: 'list files, newest first',
    fields: [{ field: 'purpose' }, { field: 'after', value: 'id', text: 'list the files after this one' }],
    show: (page, context) => {
      rows(
        filesOf,
        [
          ['ID', ({ id }) => id],
          ['SIZE', ({ bytes }) => String(bytes)],
          ['CREATED', ({ created_at }, now) => ago(timeOf(created_at), now)],
          ['PURPOSE', ({ purpose }) => purpose],
          ['NAME', ({ filename }) => filename],
        ],
        { empty: 'No files.', dropFirst: ['CREATED', 'PURPOSE'] },
      )(page, context)
      if (page.has_more) context.out.note(dim(`More: --after ${page.last_id}`))
      return undefined
    },
    examples: ['switchyard files ls --limit 20', 'switchyard files ls --purpose batch --json'],
  })
  addUpload(group, registry)
  addRouteCommand(group, registry, {
    name: 'show',
    route: storedFileRoutes.get,
    text: 'show a file',
    args: [which],
    show: (answer, { out }) => {
      const { created_at, expires_at, ...file } = fileOf(answer)
      const times = { created_at: timeOf(created_at), expires_at: expires_at === null ? null : timeOf(expires_at) }
      return printFields(out, { ...file, ...times })
    },
    examples: ['switchyard files show file_0199'],
  })
  addDownload(group, registry)
  addRouteCommand(group, registry, {
    name: 'rm',
    route: storedFileRoutes.remove,
    text: 'delete a file',
    args: [which],
    destroys: ([id]) => `delete file ${id}`,
    show: done(({ id }) => `deleted ${id}`),
    examples: ['switchyard files rm file_0199 --yes'],
  })
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString()

// Without Anthropic's headers, which these commands do not send, answers have OpenAI's format.
const fileOf = (answer: Result<typeof storedFileRoutes.get>): OpenAiFile => answer as OpenAiFile
const filesOf = ({ data }: Result<typeof storedFileRoutes.list>): readonly OpenAiFile[] => data as OpenAiFile[]

interface UploadOptions {
  readonly purpose: string
  readonly expires?: string
}

function addUpload(group: Command, { doing }: Registry): void {
  const upload = group
    .command('upload')
    .description('upload a file and print its id')
    .addArgument(new Argument('<path>', 'path of the file').argParser(someText))
    .addOption(new Option('--purpose <name>', 'what the file is for').choices([...filePurposes]).default('user_data'))
    .option('--expires <seconds>', 'delete the file after this time, 3600 to 2592000; default: never')
    .action(
      doing<UploadOptions>(async ({ client, out }, { purpose, expires }, [path = '']) => {
        const form = new FormData()
        form.set('purpose', purpose)
        if (expires !== undefined) {
          form.set('expires_after[anchor]', 'created_at')
          form.set('expires_after[seconds]', expires)
        }
        form.set('file', await openAsBlob(path).catch(error => fail('read', path, error)), basename(path))
        const file = fileOf(await client.storedFiles.upload({}, { form }))
        out.data(file)
        out.line(file.id)
        return exitCodes.ok
      }),
    )
  withExamples(upload, [
    'FILE=$(switchyard files upload report.pdf)',
    'switchyard files upload requests.jsonl --purpose batch --expires 86400',
  ])
}

interface DownloadOptions {
  readonly force?: boolean
}

function addDownload(group: Command, { doing }: Registry): void {
  const download = group
    .command('download')
    .description('download a file')
    .addArgument(new Argument('<file>', which.text).argParser(someText))
    .addArgument(new Argument('[path]', 'path of the new file; default: its name, in the current folder'))
    .option('--force', 'replace an existing file')
    .action(
      doing<DownloadOptions>(async ({ client, out }, { force }, [file_id = '', given]) => {
        const params = { file_id }
        const path = given ?? basename(fileOf(await client.storedFiles.get({ params })).filename)
        const response = await client.open(storedFileRoutes.content, { params })
        const bytes = await save(response, path, force === true)
        out.data({ file_id, path, bytes })
        out.line({ text: '✓ ', tone: 'good' }, plainLine(`${file_id} to ${path} (${bytes} bytes)`, 300))
        return exitCodes.ok
      }),
    )
  withExamples(download, [
    'switchyard files download file_0199',
    'switchyard files download file_0199 copy.pdf --force',
  ])
}

/** Writes the body of a response to a file while it arrives. Returns its bytes; removes an incomplete file. */
async function save({ body }: Response, path: string, isForced: boolean): Promise<number> {
  const file = createWriteStream(path, { flags: isForced ? 'w' : 'wx' })
  let isOpen = false
  file.once('open', () => {
    isOpen = true
  })
  try {
    await pipeline(body ? Readable.fromWeb(body) : Readable.from([]), file)
  } catch (error) {
    if (isOpen) await rm(path, { force: true })
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new CommandFailed(`file ${path} exists; replace it with --force`, exitCodes.usage)
    return fail('write', path, error)
  }
  return file.bytesWritten
}

function fail(verb: string, path: string, error: unknown): never {
  const reason = (error as NodeJS.ErrnoException).code ?? String(error)
  throw new CommandFailed(`cannot ${verb} file ${path}: ${reason}`, exitCodes.usage)
}

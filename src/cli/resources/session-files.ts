import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Argument, type Command, Option } from 'commander'
import type { Client } from '../../client/client.ts'
import { fileRoutes } from '../../contract/files.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { sessionFinder } from '../finders.ts'
import { NameArgument } from '../names.ts'
import type { Out } from '../out.ts'
import { someText } from '../parse.ts'
import { plainLine, plainText } from '../plain-text.ts'
import { type Registry, withExamples } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import { ago, done, rows } from './show.ts'

const which: FieldArgument = {
  field: 'session_id',
  name: 'session',
  text: 'id or title of the session',
  finder: sessionFinder,
}
const at = { field: 'at', value: 'event' }
const atOption = () => new Option('--at <event>', 'the file as of the last step at or before: id of an event, or start')
const session = () => new NameArgument('<session>', which.text, sessionFinder)
const path = () => new Argument('<path>', 'path in the workspace').argParser(someText)

/** Adds `sessions files`. */
export function addSessionFileCommands(sessions: Command, registry: Registry): void {
  const group = addGroup(sessions, 'files', 'files of the workspace of a session', [
    'switchyard sessions files ls ses_0199',
    'switchyard sessions files get ses_0199 report.pdf',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: fileRoutes.list,
    text: 'list a folder of the workspace',
    args: [which, { field: 'path', text: 'folder; default: the workspace', isOptional: true }],
    fields: [at],
    show: rows(
      ({ data }) => data,
      [
        ['SIZE', ({ size }) => (size === null ? '-' : String(size))],
        ['CHANGED', ({ modified_at }, now) => ago(modified_at, now)],
        [
          'PATH',
          ({ path, type, target }) =>
            type === 'folder' ? `${path}/` : target === null ? path : `${path} -> ${target}`,
        ],
      ],
      { empty: 'No files.', dropFirst: ['CHANGED'] },
    ),
    examples: ['switchyard sessions files ls ses_0199 src', 'switchyard sessions files ls ses_0199 --json'],
  })
  addRead(group, registry)
  addWrite(group, registry)
  addRouteCommand(group, registry, {
    name: 'diff',
    route: fileRoutes.diff,
    text: 'print the changes of files between two events as a patch',
    args: [which],
    fields: [
      { field: 'from', value: 'event' },
      { field: 'to', value: 'event' },
    ],
    show: ({ data }, { out }) => {
      if (data.length === 0) out.line('No changes.')
      for (const { path, change, patch, patch_omitted } of data)
        out.line(patch === null ? `${change} ${plainLine(path, 300)} (${patch_omitted})` : plainText(patch).trimEnd())
      return undefined
    },
    examples: ['switchyard sessions files diff ses_0199 > changes.patch'],
  })
  addRouteCommand(group, registry, {
    name: 'rm',
    route: fileRoutes.remove,
    text: 'delete a file, a link, or a folder with its contents',
    args: [which, { field: 'path', text: 'path in the workspace' }],
    destroys: ([id, path]) => `delete ${path} in session ${id}`,
    show: done((_, [, path]) => `deleted ${path}`),
    examples: ['switchyard sessions files rm ses_0199 notes.txt --yes'],
  })
}

interface ReadOptions {
  readonly at?: string
  readonly force?: boolean
}

function addRead(group: Command, { doing }: Registry): void {
  const cat = group
    .command('cat')
    .description('print a file')
    .addArgument(session())
    .addArgument(path())
    .addOption(atOption())
    .action(
      doing<ReadOptions>(async ({ client, out }, { at }, [session_id = '', path = '']) => {
        const bytes = await contentOf(client, { session_id, path, at })
        out.data({ path, ...encoded(bytes) })
        out.content(bytes)
        return exitCodes.ok
      }),
    )
  withExamples(cat, ['switchyard sessions files cat ses_0199 src/main.ts'])
  const get = group
    .command('get')
    .description('download a file')
    .addArgument(session())
    .addArgument(path())
    .addArgument(new Argument('[file]', 'path of the new file; default: its name, in the current folder'))
    .addOption(atOption())
    .option('--force', 'replace an existing file')
    .action(
      doing<ReadOptions>(
        async ({ client, out }, { at, force }, [session_id = '', path = '', file = basename(path)]) => {
          const bytes = await contentOf(client, { session_id, path, at })
          await save(file, bytes, force === true)
          out.data({ path, file, bytes: bytes.byteLength })
          reportCopy(out, { from: path, to: file, bytes })
          return exitCodes.ok
        },
      ),
    )
  withExamples(get, [
    'switchyard sessions files get ses_0199 report.pdf',
    'switchyard sessions files get ses_0199 a.txt b.txt',
  ])
}

function addWrite(group: Command, { doing, world }: Registry): void {
  const put = group
    .command('put')
    .description('upload a file; fails with exit code 6 while a run is in progress')
    .addArgument(session())
    .addArgument(new Argument('<file>', 'path of the file to upload; - for standard input').argParser(someText))
    .addArgument(new Argument('[path]', 'path in the workspace; default: the name of the file'))
    .action(
      doing(async ({ client, out }, _, [session_id = '', file = '', path]) => {
        const target = path ?? basename(file)
        if (file === '-' && path === undefined)
          throw new CommandFailed('set the path in the workspace', exitCodes.usage)
        const content = file === '-' ? new TextEncoder().encode(await world.stdin.read()) : await load(file)
        const params = { session_id, path: target }
        const written = await client.files.write({ params }, { content })
        out.data(written)
        reportCopy(out, { from: file, to: target, bytes: content })
        return exitCodes.ok
      }),
    )
  withExamples(put, [
    'switchyard sessions files put ses_0199 data.csv',
    'switchyard sessions files put ses_0199 a.txt in/a.txt',
  ])
}

async function contentOf(
  client: Client,
  { session_id, path, at }: { readonly session_id: string; readonly path: string; readonly at: string | undefined },
): Promise<Uint8Array> {
  const query = at === undefined ? {} : { at }
  const response = await client.open(fileRoutes.read, { params: { session_id, path }, query })
  return new Uint8Array(await response.arrayBuffer())
}

/** Content for JSON: as text when it is UTF-8. */
function encoded(bytes: Uint8Array): { encoding: 'utf-8' | 'base64'; content: string } {
  try {
    return { encoding: 'utf-8', content: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { encoding: 'base64', content: Buffer.from(bytes).toString('base64') }
  }
}

async function load(file: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await readFile(file))
  } catch (error) {
    throw fileFailure('read', file, error)
  }
}

async function save(file: string, bytes: Uint8Array, isForced: boolean): Promise<void> {
  if (
    await stat(file).then(
      found => found.isDirectory(),
      () => false,
    )
  )
    throw new CommandFailed(`${file} is a folder; name a file`, exitCodes.usage)
  try {
    await writeFile(file, bytes, { flag: isForced ? 'w' : 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new CommandFailed(`file ${file} exists; replace it with --force`, exitCodes.usage)
    throw fileFailure('write', file, error)
  }
}

const fileFailure = (verb: string, file: string, error: unknown): CommandFailed =>
  new CommandFailed(
    `cannot ${verb} file ${file}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
    exitCodes.usage,
  )

const reportCopy = (out: Out, copy: { readonly from: string; readonly to: string; readonly bytes: Uint8Array }): void =>
  out.line({ text: '✓ ', tone: 'good' }, plainLine(`${copy.from} to ${copy.to} (${copy.bytes.byteLength} bytes)`, 300))

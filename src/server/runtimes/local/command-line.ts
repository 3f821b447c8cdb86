import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, sep } from 'node:path'
import { RuntimeFailure } from '../runtime.ts'

/** A command that was found on this machine. */
export interface FoundCommand {
  /** The program's absolute path, then the arguments. */
  readonly words: readonly string[]
  /** Folders that it must be able to read besides the system's: its package, Node, and those of file arguments. */
  readonly readable: readonly string[]
  /** Its PATH; undefined for that of its image. */
  readonly path: string | undefined
}

const searchPath = ['/usr/local/bin', '/usr/bin', '/bin']

/**
 * Finds the program of a command. `node` is the Node that runs this server. For a place with the system of an image,
 * names are those of the image. Rejects with `RuntimeFailure`.
 */
export async function findCommand(
  command: readonly string[],
  { hasOwnSystem }: { readonly hasOwnSystem: boolean },
): Promise<FoundCommand> {
  const [name = '', ...args] = command
  if (hasOwnSystem) {
    const given = await Promise.all(command.filter(isAbsolute).map(homeOf))
    return { words: command, readable: withoutInner(given.filter(path => path !== undefined)), path: undefined }
  }
  const program = await findProgram(name)
  if (program === undefined)
    throw new RuntimeFailure('model_request_failed_error', `program ${name} was not found on this server`)
  const node = await realpath(process.execPath)
  const given = await Promise.all(args.filter(isAbsolute).map(homeOf))
  const readable = [dirname(node), await homeOf(program), ...given].filter(path => path !== undefined)
  return {
    words: [program, ...args],
    readable: withoutInner(readable),
    path: [dirname(node), ...searchPath].join(':'),
  }
}

async function findProgram(name: string): Promise<string | undefined> {
  if (name === 'node') return process.execPath
  const places = isAbsolute(name) ? [name] : searchPath.map(folder => join(folder, name))
  for (const place of name === '' ? [] : places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return place
  }
  return undefined
}

const modules = `${sep}node_modules${sep}`

/** Returns the folder of a program's files: the `node_modules` that contains it, otherwise its own folder. */
async function homeOf(path: string): Promise<string | undefined> {
  const file = await realpath(path).catch(() => undefined)
  if (file === undefined) return undefined
  const at = file.indexOf(modules)
  const folder =
    at >= 0 ? file.slice(0, at + modules.length - 1) : (await stat(file)).isDirectory() ? file : dirname(file)
  return folder === '/' ? file : folder
}

/** Removes duplicates and folders inside another one. */
const withoutInner = (folders: readonly string[]): string[] => {
  const different = [...new Set(folders)]
  return different.filter(folder => !different.some(other => folder.startsWith(`${other}${sep}`)))
}

import { readFile } from 'node:fs/promises'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'

/** Reads a file that an argument names. `what` is the noun for the error. */
export const textOfFile = (path: string, what = 'file'): Promise<string> => readable(readFile(path, 'utf8'), path, what)

/** Reads a file, or standard input for the path `-`. */
export const textOfInput = (path: string, readStdin: () => Promise<string>): Promise<string> =>
  path === '-' ? readable(readStdin(), path, 'file') : textOfFile(path)

const readable = (reading: Promise<string>, path: string, what: string): Promise<string> =>
  reading.catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`cannot read ${what} ${path}: ${error.code ?? error.message}`, exitCodes.usage)
  })

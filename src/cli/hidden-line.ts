import { StringDecoder } from 'node:string_decoder'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'

/** The used part of a terminal's input. */
interface Terminal {
  setRawMode(isRaw: boolean): unknown
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  off(event: 'data', listener: (chunk: Buffer) => void): unknown
  pause(): unknown
}

/** Ctrl-C: in raw mode the terminal does not turn it into a signal. */
const cancel = '\x03'
/** Enter, and Ctrl-D. */
const ends = ['\r', '\n', '\x04']
/** Backspace, as terminals send it. */
const erasers = ['\x7f', '\b']

/** Reads one line from a terminal without echo. Rejects with CommandFailed on Ctrl-C. */
export async function readHiddenLine(terminal: Terminal): Promise<string> {
  const decoder = new StringDecoder('utf8')
  const characters: string[] = []
  const { promise, resolve } = Promise.withResolvers<string>()
  const onData = (chunk: Buffer): void => {
    for (const character of decoder.write(chunk)) {
      if (character === cancel || ends.includes(character)) {
        resolve(character)
        break
      }
      if (erasers.includes(character)) characters.pop()
      else characters.push(character)
    }
  }
  terminal.setRawMode(true)
  terminal.on('data', onData)
  const last = await promise.finally(() => {
    terminal.off('data', onData)
    terminal.setRawMode(false)
    terminal.pause()
  })
  if (last === cancel) throw new CommandFailed('cancelled', exitCodes.interrupted)
  return characters.join('')
}

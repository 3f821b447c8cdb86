import { StringDecoder } from 'node:string_decoder'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'

/** The part of a terminal's input that is needed here. */
interface Terminal {
  setRawMode(isRaw: boolean): unknown
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  off(event: 'data', listener: (chunk: Buffer) => void): unknown
  pause(): unknown
}

/** Ctrl-C: without echo the terminal makes no signal of it. */
const cancel = '\x03'
/** Enter, and Ctrl-D. */
const ends = ['\r', '\n', '\x04']
/** Backspace, as terminals send it. */
const erasers = ['\x7f', '\b']

/** One line of a terminal, which does not show it. Rejects with CommandFailed at Ctrl-C. */
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
  if (last === cancel) throw new CommandFailed('Cancelled.', exitCodes.interrupted)
  return characters.join('')
}

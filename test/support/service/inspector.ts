import { connect } from 'node:net'

/** Sends SIGUSR1 and resolves with true when a debugger listens on its port then, or the process reports it. */
export async function opensDebugger(pid: number, logs: () => string): Promise<boolean> {
  const wasOpen = await isOpen()
  process.kill(pid, 'SIGUSR1')
  // It would listen within milliseconds.
  for (let look = 0; look < 20; look++) {
    if (/debugger listening/i.test(logs()) || (!wasOpen && (await isOpen()))) return true
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  return false
}

const inspectorPort = 9229

const isOpen = (): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(inspectorPort, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

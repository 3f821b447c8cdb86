/** One change that a push requests. */
export interface PushCommand {
  readonly from: string
  readonly to: string
  readonly ref: string
}

/** The part of a push before its objects. */
export interface PushHead {
  /** All bytes read so far, to be forwarded. May contain the start of the objects. */
  readonly bytes: Buffer
  readonly commands: readonly PushCommand[]
  /** Capabilities that the client has chosen. */
  readonly capabilities: readonly string[]
}

const maxHeadBytes = 64 * 1024
const lengthBytes = 4
const commandPattern = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (refs\/[^\0\n ]{1,500})$/

/** Error of a push that is not understood. The message is for the client. */
export class MalformedPush extends Error {
  override readonly name = 'MalformedPush'
}

/**
 * Reads the commands of a push up to the flush packet, at most 64 KiB. Rejects with `MalformedPush`, also for a signed
 * push.
 */
export async function readPushHead(body: AsyncIterator<Buffer>): Promise<PushHead> {
  let bytes: Buffer = Buffer.alloc(0)
  let at = 0
  const commands: PushCommand[] = []
  let capabilities: readonly string[] = []
  const has = async (end: number): Promise<void> => {
    while (bytes.length < end) {
      if (end > maxHeadBytes) throw new MalformedPush('push has too many commands')
      const { value, done } = await body.next()
      if (done) throw new MalformedPush('push was truncated')
      bytes = Buffer.concat([bytes, value])
    }
  }
  for (;;) {
    await has(at + lengthBytes)
    const digits = bytes.toString('latin1', at, at + lengthBytes)
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
    if (length === 0) return { bytes, commands, capabilities }
    if (!(length > lengthBytes)) throw new MalformedPush('push is malformed')
    await has(at + length)
    const [line = '', chosen] = bytes
      .toString('utf8', at + lengthBytes, at + length)
      .replace(/\n$/, '')
      .split('\0')
    at += length
    if (chosen !== undefined) capabilities = chosen.trim().split(' ')
    if (/^shallow [0-9a-f]{40,64}$/.test(line)) continue
    const [, from, to, ref] = commandPattern.exec(line) ?? []
    if (from === undefined || to === undefined || ref === undefined)
      throw new MalformedPush('push is malformed or signed; signed pushes are not supported')
    commands.push({ from, to, ref })
  }
}

const isDeletion = ({ to }: PushCommand): boolean => /^0+$/.test(to)

/** Returns why a push is rejected; undefined when it changes the session's branch only. */
export function pushProblem({ commands }: Pick<PushHead, 'commands'>, branch: string): string | undefined {
  const own = `refs/heads/${branch}`
  const other = commands.find(({ ref }) => ref !== own)
  if (other) return `this session may push to ${branch} only`
  return commands.some(isDeletion) ? 'this session may not delete branches' : undefined
}

const packet = (content: Buffer | string): Buffer => {
  const body = Buffer.from(content)
  return Buffer.concat([Buffer.from((body.length + lengthBytes).toString(16).padStart(lengthBytes, '0')), body])
}

const flush = Buffer.from('0000')

/** Returns the report with which git shows the reason at every ref of a rejected push. */
export function rejectionReport({ commands, capabilities }: PushHead, reason: string): Buffer {
  const lines = commands.map(({ ref }) => packet(`ng ${ref} ${reason}\n`))
  const report = Buffer.concat([packet('unpack ok\n'), ...lines, flush])
  if (!capabilities.includes('side-band-64k')) return report
  return Buffer.concat([packet(Buffer.concat([Buffer.from([1]), report])), flush])
}

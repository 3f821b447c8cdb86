/** Standard output or standard error of a container. */
export type StreamName = 'stdout' | 'stderr'

const headerBytes = 8
const names: readonly (StreamName | undefined)[] = [undefined, 'stdout', 'stderr']

/**
 * Returns a reader for the attach stream of the Engine API. A frame is a header of 8 bytes, the stream in the first and
 * the length in the last four, and its content. Content is passed on as it arrives. Throws if the bytes are not frames.
 */
export function frameReader(onPart: (name: StreamName, part: Buffer) => void): (chunk: Buffer) => void {
  let header = Buffer.alloc(0)
  let name: StreamName = 'stdout'
  let missing = 0
  return chunk => {
    let rest = chunk
    while (rest.length > 0) {
      if (missing === 0) {
        const taken = rest.subarray(0, headerBytes - header.length)
        header = Buffer.concat([header, taken])
        rest = rest.subarray(taken.length)
        if (header.length < headerBytes) return
        ;[name, missing] = opened(header)
        header = Buffer.alloc(0)
      }
      const part = rest.subarray(0, missing)
      missing -= part.length
      rest = rest.subarray(part.length)
      if (part.length > 0) onPart(name, part)
    }
  }
}

function opened(header: Buffer): [name: StreamName, bytes: number] {
  const name = names[header[0] ?? 0]
  if (!name || header[1] !== 0 || header[2] !== 0 || header[3] !== 0)
    throw new Error('the engine sent an output stream that cannot be read')
  return [name, header.readUInt32BE(4)]
}

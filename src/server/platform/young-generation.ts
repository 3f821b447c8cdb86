import { setFlagsFromString } from 'node:v8'

/**
 * Does the work of a start in as little room for young objects as there is now. Nearly all that a start makes stays: the
 * engine would answer with ever more room, and an idle server would keep some 5 MB of it. Afterwards load may have it.
 */
export async function withSmallYoungGeneration<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--semi-space-growth-factor=1')
  try {
    return await work()
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2')
  }
}

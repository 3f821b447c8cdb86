import { setFlagsFromString } from 'node:v8'

/**
 * Runs `work` of the start without growth of V8's young generation. Nearly all objects of the start survive, so V8
 * would grow it, and an idle server would keep about 5 MB more. Afterwards it may grow under load.
 */
export async function withSmallYoungGeneration<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--semi-space-growth-factor=1')
  try {
    return await work()
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2')
  }
}

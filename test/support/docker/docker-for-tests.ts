import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { DockerSettings } from '../../../src/server/config/agent-settings.ts'
import type { DriverSettings } from '../../../src/server/sandboxes/choose-driver.ts'
import { lack } from '../service/lack.ts'
import { type FakeEngine, fakeImage, startFakeEngine } from './fake-engine.ts'

/** Why the fake engine cannot run here, for the `skip` of a test; false where it can. */
export const lackEngine: string | false =
  lack('bubblewrap') || (process.getuid?.() !== 0 && 'the fake engine of Docker needs root')

interface Wanted {
  readonly engine?: Parameters<typeof startFakeEngine>[0]
  readonly docker?: Partial<DockerSettings>
  readonly images?: readonly string[]
}

/** Starts a fake engine that is stopped after the last test; it must have understood every request until then. */
export async function dockerForTests({
  engine: options,
  docker = {},
  images = [],
}: Wanted = {}): Promise<{ engine: FakeEngine; settings: DriverSettings }> {
  const engine = await startFakeEngine(options)
  after(async () => {
    await engine.stop()
    assert.deepEqual(engine.problems, [])
  })
  const own = { runtime: undefined, user: undefined, proxyImage: undefined, pull: true }
  return {
    engine,
    settings: { image: fakeImage, images, docker: { socket: engine.socketPath, ...own, ...docker } },
  }
}

import { after } from 'node:test'
import { startFakeApiServer } from './fake-api-server.ts'

/** Starts a fake cluster whose claim has the content of a folder, until the last test of the file. */
export async function fakeClusterFor(volume: string) {
  const fake = await startFakeApiServer({ volume })
  after(() => fake.close())
  return { kubernetes: { settings: fake.settings, image: 'debian:13' } }
}

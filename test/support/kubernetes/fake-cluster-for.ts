import { after } from 'node:test'
import { startFakeApiServer } from './fake-api-server.ts'

const unused = { socket: '/nonexistent', runtime: undefined, user: undefined, proxyImage: undefined, pull: false }

/** Starts a fake cluster whose claim has the content of a folder, until the last test of the file. */
export async function fakeClusterFor(volume: string, images: readonly string[] = []) {
  const fake = await startFakeApiServer({ volume })
  after(() => fake.close())
  return { fake, settings: { image: 'debian:13', images, docker: unused, kubernetes: fake.settings } }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFile } from './file.ts'
import { sandboxOfFile } from './sandbox-of-file.ts'

type Block = NonNullable<(typeof emptyFile)['value']['sandbox']>

function read(block: Block | undefined) {
  const problems: string[] = []
  const file = { ...emptyFile, value: block ? { sandbox: block } : {} }
  const settings = sandboxOfFile({ file, env: {}, report: text => void problems.push(text) })
  return { settings, problems }
}

const docker = {
  socket: '/var/run/docker.sock',
  runtime: undefined,
  user: undefined,
  proxyImage: undefined,
  pull: true,
}

test('without the block the driver is chosen at start', () => {
  const settings = { driver: 'auto', image: '', images: [], docker, kubernetes: undefined }
  assert.deepEqual(read(undefined), { settings, problems: [] })
})

test('docker has an image and settings of its own', () => {
  const own = { socket: '/run/d.sock', runtime: 'runsc', user: '7:7', proxy_image: 'alpine/socat', pull: 'never' }
  assert.deepEqual(read({ driver: 'docker', image: 'debian:trixie', images: ['node:24'], docker: own }), {
    settings: {
      driver: 'docker',
      image: 'debian:trixie',
      images: ['node:24'],
      docker: { socket: '/run/d.sock', runtime: 'runsc', user: '7:7', proxyImage: 'alpine/socat', pull: false },
      kubernetes: undefined,
    },
    problems: [],
  })
})

const wrong: readonly (readonly [block: Block, problem: RegExp])[] = [
  [
    { driver: 'dcoker' },
    /^sandbox\.driver must be one of auto, bubblewrap, virtual, docker, kubernetes; did you mean docker\?$/,
  ],
  [{ driver: 'docker' }, /^sandbox\.image is required with driver docker, for example debian:trixie$/],
  [{ image: 'debian' }, /^sandbox\.image needs driver docker or kubernetes; the driver is auto$/],
  [{ driver: 'virtual', docker: {} }, /^sandbox\.docker needs driver docker/],
  [
    { driver: 'docker', image: 'a', kubernetes: {} },
    /^sandbox\.kubernetes needs driver kubernetes; the driver is docker$/,
  ],
  [{ driver: 'docker', image: 'a b' }, /^sandbox\.image must be the name of an image/],
  [{ driver: 'docker', image: 'a', images: ['switchyard-setup:1'] }, /^sandbox\.images\[0\] must not be an image/],
  [
    { driver: 'docker', image: 'a', docker: { socket: 'tcp://x' } },
    /^sandbox\.docker\.socket must be the absolute path/,
  ],
  [{ driver: 'docker', image: 'a', docker: { user: 'root' } }, /^sandbox\.docker\.user must be two numbers/],
  [{ driver: 'docker', image: 'a', docker: { pull: 'always' } }, /^sandbox\.docker\.pull must be missing or never$/],
]

for (const [block, problem] of wrong) {
  test(`${JSON.stringify(block)} is rejected`, () => {
    const { problems } = read(block)
    assert.equal(problems.length, 1, problems.join('\n'))
    assert.match(problems[0] ?? '', problem)
  })
}

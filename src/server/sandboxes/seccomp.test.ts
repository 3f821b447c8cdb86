import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seccompFilter } from './seccomp.ts'

interface Call {
  readonly architecture: number
  readonly number: number
  readonly firstArgument?: number
  readonly thirdArgument?: number
}

/** Interprets a filter like the kernel, for the few instructions that ours uses. */
function verdict(filter: Buffer, { architecture, number, firstArgument = 0, thirdArgument = 0 }: Call): number {
  const data = new Map([
    [0, number],
    [4, architecture],
    [16, firstArgument],
    [32, thirdArgument],
  ])
  let register = 0
  for (let at = 0; ; ) {
    const code = filter.readUInt16LE(at * 8)
    const value = filter.readUInt32LE(at * 8 + 4)
    const jump = (isTrue: boolean) => 1 + filter.readUInt8(at * 8 + (isTrue ? 2 : 3))
    if (code === 0x06) return value
    if (code === 0x20) register = data.get(value) ?? Number.NaN
    if (code === 0x15) at += jump(register === value)
    else if (code === 0x35) at += jump(register >= value)
    else if (code === 0x45) at += jump((register & value) !== 0)
    else at += 1
  }
}

const allow = 0x7fff0000
const refused = 0x00050001
const unknown = 0x00050026
const unsupported = 0x00050061
const threadFlags = 0x003d0f00
const newUserNamespace = 0x10000000

const processors = [
  {
    name: 'x64',
    architecture: 0xc000003e,
    read: 0,
    ptrace: 101,
    mount: 165,
    clone: 56,
    unshare: 272,
    sockets: [41, 53],
  },
  {
    name: 'arm64',
    architecture: 0xc00000b7,
    read: 63,
    ptrace: 117,
    mount: 40,
    clone: 220,
    unshare: 97,
    sockets: [198, 199],
  },
] as const

for (const { name, architecture, read, ptrace, mount, clone, unshare, sockets } of processors) {
  test(`${name}: the calls of tools are allowed, and privileged calls are denied`, () => {
    const filter = seccompFilter(name)
    assert(filter)
    const table: [number: number, firstArgument: number, answer: number][] = [
      [read, 0, allow],
      [clone, threadFlags, allow],
      [unshare, 0, allow],
      [1000, 0, allow],
      [ptrace, 0, refused],
      [mount, 0, refused],
      [clone, newUserNamespace, refused],
      [unshare, newUserNamespace, refused],
      [435, 0, unknown],
      [0x40000000 + ptrace, 0, unknown],
    ]
    for (const [number, firstArgument, answer] of table) {
      assert.equal(verdict(filter, { architecture, number, firstArgument }), answer, `call ${number}`)
    }
    assert.equal(verdict(filter, { architecture: 0x40000003, number: read }), unknown)
  })

  test(`H2: ${name}: only UNIX, IPv4, IPv6 and interface-listing sockets are allowed`, () => {
    const filter = seccompFilter(name)
    assert(filter)
    for (const number of sockets) {
      for (let firstArgument = 0; firstArgument < 64; firstArgument++) {
        const answer = [1, 2, 10, 16].includes(firstArgument) ? allow : unsupported
        assert.equal(verdict(filter, { architecture, number, firstArgument }), answer, `${number}: ${firstArgument}`)
      }
      for (const thirdArgument of [4, 9, 12, 16, 21])
        assert.equal(verdict(filter, { architecture, number, firstArgument: 16, thirdArgument }), unsupported)
      assert.equal(verdict(filter, { architecture, number: 0x40000000 + number, firstArgument: 1 }), unknown)
      assert.equal(verdict(filter, { architecture: 0x40000003, number, firstArgument: 1 }), unknown)
    }
  })
}

test('an unknown processor has no filter', () => assert.equal(seccompFilter('s390x'), undefined))

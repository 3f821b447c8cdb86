// Runs in a network namespace that has loopback only: `without-routes-main.ts <program> <data folder>`. Starts the service with its
// defaults, uses it, stops it, and prints one line of JSON with how often the kernel found no route to another host.
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { send, sendOk } from '../service/send.ts'

/** What the kernel has counted in this namespace, for every process in it and every kind of socket. */
function attempts(): number {
  const [names = '', values = ''] = readFileSync('/proc/self/net/snmp', 'utf8').match(/^Ip: .*$/gm) ?? []
  const at = names.split(' ').indexOf('OutNoRoutes')
  const [, ofIpv6 = '0'] = /^Ip6OutNoRoutes\s+(\d+)$/m.exec(readFileSync('/proc/self/net/snmp6', 'utf8')) ?? []
  return Number(values.split(' ')[at]) + Number(ofIpv6)
}

/** Returns how many attempts `work` has made. */
async function attemptsOf(work: () => Promise<unknown>): Promise<number> {
  const before = attempts()
  await work()
  return attempts() - before
}

async function connectTo(host: string): Promise<void> {
  const socket = connect(443, host)
  await once(socket, 'error')
}

async function sendDatagram(): Promise<void> {
  const socket = createSocket('udp4')
  await new Promise(done => socket.send('x', 53, '192.0.2.1', done))
  socket.close()
}

/** What each kind of attempt counts: none may be zero, or the service could contact others unseen. */
const controls = {
  ipv4: await attemptsOf(() => connectTo('192.0.2.1')),
  ipv6: await attemptsOf(() => connectTo('2001:db8::1')),
  datagram: await attemptsOf(sendDatagram),
  name: await attemptsOf(() => lookup('switchyard.example').catch(() => undefined)),
  child: await attemptsOf(() => ended(['-e', 'fetch("http://192.0.2.1/").catch(() => 0)'])),
}

async function ended(args: readonly string[]): Promise<void> {
  await once(spawn(process.execPath, args, { stdio: 'ignore' }), 'exit')
}

const [program = '', dataDir = ''] = process.argv.slice(2)
const service = await attemptsOf(useService)
process.stdout.write(`${JSON.stringify({ controls, service })}\n`)

/** Starts the service as a new user does, runs an agent, and reads every page that needs no object. */
async function useService(): Promise<void> {
  const { PATH } = process.env
  const env = { PATH, HOME: dataDir, PORT: '0', SWITCHYARD_DATA_DIR: dataDir, SWITCHYARD_DRAIN_DELAY_MS: '0' }
  const child = spawn(process.execPath, [program, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const target = { url: await readyUrl(() => output) }
  const body = { name: 'Local', owner_id: 'me', model: 'demo' }
  const { id: agent } = await sendOk<{ id: string }>(target, 'POST /api/agents', { body })
  const prompt = 'Create hello.txt'
  const { id } = await sendOk<{ id: string }>(target, 'POST /session', { body: { agent, prompt } })
  await sendOk(target, `GET /v1/sessions/${id}/events?types=session.status_idle&wait=60`)
  for (const path of ['/', '/docs', '/openapi.json', '/metrics', '/api/overview', '/api/capabilities', '/v1/models'])
    await send(target, `GET ${path}`)
  // Longer than the period of the sweeps that every replica makes.
  await sleep(7_000)
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function readyUrl(output: () => string): Promise<string> {
  for (;;) {
    const [url] = /http:\/\/[\w.-]+:[1-9]\d*/.exec(output()) ?? []
    const answer = url === undefined ? undefined : await fetch(`${url}/health/ready`).catch(() => undefined)
    if (url !== undefined && answer?.ok) return url
    await sleep(100)
  }
}

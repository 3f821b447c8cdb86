import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { signIn, startConsole } from '../support/console/browser.ts'
import { pagesOfMenu, visit } from '../support/console/console-pages.ts'
import { launchChromium } from '../support/service/chromium.ts'
import { eventually } from '../support/service/eventually.ts'
import { onLoopback } from '../support/service/on-loopback.ts'

const service = await startConsole()
const { host: own } = new URL(service.url)
/** Every address that the browser has asked its proxy for, besides the service. */
const asked = new Set<string>()
/** Services of Chromium itself, which it asks whatever page is open. A request of a page to them is seen in the page. */
const ofBrowser =
  /^(http:\/\/)?(update|content-autofill|optimizationguide-pa|safebrowsing|clients\d?)\.googleapis\.com[:/]|^(http:\/\/)?(accounts|www|clients\d)\.google\.com[:/]|^(http:\/\/)?(edgedl\.me|redirector)\.gvt1\.com[:/]/
const note = (address: string) => {
  if (!ofBrowser.test(address)) asked.add(address)
}

/** A proxy that passes requests to the service on, and notes and rejects all others. */
const proxy = createServer((incoming, outgoing) => {
  const url = URL.parse(incoming.url ?? '')
  if (url?.host !== own) {
    note(incoming.url ?? '')
    outgoing.writeHead(502).end()
    return
  }
  const { method, headers } = incoming
  const passed = request(url, { method, headers, agent: false }, answer => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  })
  passed.on('error', () => outgoing.destroy())
  outgoing.on('close', () => passed.destroy())
  incoming.pipe(passed)
})
proxy.on('connect', (incoming, socket) => {
  if (incoming.url !== own) {
    note(incoming.url ?? '')
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    return
  }
  const { hostname, port } = new URL(service.url)
  const upstream = connect(Number(port), hostname, () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    upstream.pipe(socket).pipe(upstream)
  })
  for (const end of [socket, upstream]) end.on('error', () => undefined)
})
const loopback = await onLoopback(proxy)
after(() => loopback.close())
// Every connection of every part of the browser, loopback included, takes the proxy; no name is looked up without it.
const browser = await launchChromium([
  `--proxy-server=${loopback.url}`,
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
])
after(() => browser.close())

test('S49: every page of the console, and the API reference, contact no host but the service', async () => {
  const page = await browser.newPage()
  page.setDefaultTimeout(60_000)
  const requested: string[] = []
  page.context().on('request', sent => requested.push(sent.url()))
  await page.goto(`${service.url}/`)
  await signIn(page, service.key)
  const pages = await pagesOfMenu(page)
  assert.ok(pages.length > 8, String(pages.length))
  for (const each of pages) await visit(page, service.url, each)
  await page.goto(`${service.url}/docs`)
  await page.getByRole('heading', { name: 'Switchyard API' }).first().waitFor()
  // Until nothing more is requested. The state `networkidle` also waits for the end of each request.
  await eventually(async () => {
    const count = requested.length
    await sleep(1_000)
    return requested.length === count
  })
  const isOwn = (url: string) => url.startsWith(`${service.url}/`) || /^(data|blob):/.test(url)
  assert.deepEqual(
    requested.filter(url => !isOwn(url)),
    [],
  )
  assert.deepEqual([...asked], [])
})

test('S49: what a page contacts besides the service would be seen', async () => {
  const page = await browser.newPage()
  await page.goto(`${service.url}/health`)
  await page.evaluate(
    "fetch('http://other.example/a').catch(() => 0); fetch('https://other.example/b').catch(() => 0); 0",
  )
  await page.evaluate("new WebSocket('ws://socket.example/c'); 0")
  const expected = ['http://other.example/a', 'other.example:443', 'socket.example:80']
  await eventually(() => expected.every(address => asked.has(address)), { what: expected.join(', ') })
})

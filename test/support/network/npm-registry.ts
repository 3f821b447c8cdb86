import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Returns a registry of npm with one package, whose module exports `text`. */
export function npmRegistry(name: string, text: string): RequestListener {
  const tarball = packed(name, text)
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  return ({ url, headers, socket }, response) => {
    if (url === `/${name}/-/${name}-1.0.0.tgz`) return void response.end(tarball)
    if (url !== `/${name}`) return void response.writeHead(404).end('{}')
    const origin = `${'encrypted' in socket ? 'https' : 'http'}://${headers.host}`
    const dist = { tarball: `${origin}/${name}/-/${name}-1.0.0.tgz`, integrity }
    const version = { name, version: '1.0.0', main: 'index.js', dist }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }))
  }
}

function packed(name: string, text: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-package-'))
  try {
    mkdirSync(join(folder, 'package'))
    writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify({ name, version: '1.0.0', main: 'index.js' }))
    writeFileSync(join(folder, 'package', 'index.js'), `module.exports = ${JSON.stringify(text)}\n`)
    execFileSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: folder })
    return readFileSync(join(folder, 'package.tgz'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

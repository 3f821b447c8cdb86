import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..', '..')
const sources = globSync('src/{server,cli,client,contract}/**/*.ts', { cwd: root })
  .filter(file => !/\.test\.ts$|\/fixtures[\w-]*\.ts$|-for-tests\.ts$/.test(file))
  .map(file => ({ file, text: withoutComments(readFileSync(join(root, file), 'utf8')) }))

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

/** Returns the files whose text matches. */
const filesWith = (pattern: RegExp): string[] =>
  sources
    .filter(({ text }) => pattern.test(text))
    .map(({ file }) => file)
    .toSorted()

test('the rules examine the sources', () => {
  assert.ok(sources.length > 500, String(sources.length))
})

test('S23: only the guard of outbound connections, local engines and sockets of this machine open connections', () => {
  assert.deepEqual(filesWith(/\bbuildConnector\(/), ['src/server/platform/outbound.ts'])
  const values =
    /^import (?!type )\{[^}]*\b(request|get|Agent|connect|createConnection|Socket)\b[^}]*\} from 'node:(http|https|http2|net|tls)'/m
  assert.deepEqual(filesWith(values), [...thisMachine, ...engines].toSorted())
  assert.deepEqual(
    filesWith(/(?<!function |[.\w])fetch\((?!task|url: )|\bglobalThis\.fetch\b|new (WebSocket|EventSource)\(/).filter(
      file => !calledByPeople(file),
    ),
    [],
  )
  assert.deepEqual(filesWith(/from '(axios|node-fetch|got|ws|node:dgram)'/), [])
})

/** They connect to programs that the service has started, and to the port that it is about to open. */
const thisMachine = [
  'src/server/running.ts',
  'src/server/runtimes/local/program-socket.ts',
  'src/server/runtimes/local/programs.ts',
]

/** They connect to the engine of containers that the operator names. */
const engines = [
  'src/server/sandboxes/docker/engine.ts',
  'src/server/sandboxes/docker/leftovers.ts',
  'src/server/sandboxes/kubernetes/api.ts',
]

/** The command line and the client library call the service that their user names. */
const calledByPeople = (file: string): boolean => /^src\/(cli|client)\//.test(file)

test('S33: no source evaluates text as code', () => {
  assert.deepEqual(filesWith(/(?<![.\w])eval\(|\bnew Function\b|(?<!\w)Function\(|from '(node:)?vm'/), [])
  assert.deepEqual(filesWith(/\b(setTimeout|setInterval)\(\s*['"`]/), [])
})

test('S56: no source and no setting switches the check of certificates off', () => {
  assert.deepEqual(
    filesWith(/rejectUnauthorized:\s*(false|[a-z]\w*)|NODE_TLS_REJECT_UNAUTHORIZED|checkServerIdentity/),
    [],
  )
})

test('S02: secrets are compared by digest in constant time', () => {
  const secret =
    /\b(token|secret|signature|password|masterKey|hmac|mac)\b\s*[!=]==?\s*(?!undefined|null|''|""|signaturePlaceholder)\w/i
  assert.deepEqual(filesWith(secret), [])
})

test('H4: no expression removes repeated characters at the end of a text, since that takes quadratic time', () => {
  const trailing = /\/(\(\?<![^)]*\))?(\\.|\[[^\]]+\]|[ \w-])[+*]\$\//
  assert.deepEqual(
    filesWith(trailing).filter(file => file.startsWith('src/server/')),
    [],
  )
})

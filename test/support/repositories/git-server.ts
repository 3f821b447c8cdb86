import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'

const exec = promisify(execFile)
const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', '-c', 'init.defaultBranch=main']

export interface GitRequest {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
}

interface Options {
  /** Accepted values of the header `authorization`; a request with another one is 401. Absent: everyone. */
  readonly accepts?: readonly string[]
}

/** A file of a commit: its text, the target of a symbolic link, or the commit of a submodule. */
export type FileOf = string | { readonly link: string } | { readonly commit: string }

/** Real git over HTTP on loopback, by `git http-backend`. Ends with the file. */
export async function startGitServer({ accepts }: Options = {}) {
  const root = await mkdtemp(join(tmpdir(), 'switchyard-git-'))
  const requests: GitRequest[] = []
  /** Replaces the responses to requests when it returns true. */
  let intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    requests.push({ method, url, authorization: headers.authorization })
    if (intercept(request, response)) return
    if (accepts && !accepts.includes(headers.authorization ?? '')) {
      // A careless server repeats what it got.
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' })
      return void response.end(`wrong credential ${headers.authorization}`)
    }
    serveGit(root, request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  after(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    await rm(root, { recursive: true, force: true })
  })

  const bare = (path: string) => join(root, path)
  return {
    host,
    url: `http://${host}`,
    /** Serves a request that another server got. */
    serve: (request: IncomingMessage, response: ServerResponse) => void server.emit('request', request, response),
    requests,
    /** Answers instead of git; returns false for requests that git answers. */
    intercept(by: typeof intercept) {
      intercept = by
    },
    /** Runs git in a repository of the server and returns its output. */
    git: async (path: string, ...args: string[]): Promise<string> =>
      (await exec('git', [...identity, '-C', bare(path), ...args])).stdout.trim(),
    /** Creates `acme/shop.git` with one commit of these files on `main`; returns its id. */
    async create(path: string, files: Readonly<Record<string, FileOf>>): Promise<string> {
      const work = await mkdtemp(join(tmpdir(), 'switchyard-work-'))
      const git = async (...args: string[]) => (await exec('git', [...identity, '-C', work, ...args])).stdout.trim()
      try {
        await git('init', '-q', '-b', 'main')
        for (const [name, content] of Object.entries(files)) {
          await mkdir(dirname(join(work, name)), { recursive: true })
          if (typeof content === 'string') await writeFile(join(work, name), content)
          else if ('link' in content) await symlink(content.link, join(work, name))
        }
        await git('add', '-A', '-f')
        for (const [name, content] of Object.entries(files))
          if (typeof content === 'object' && 'commit' in content)
            await git('update-index', '--add', '--cacheinfo', `160000,${content.commit},${name}`)
        await git('commit', '-q', '--allow-empty', '-m', 'first')
        await mkdir(dirname(bare(path)), { recursive: true })
        await exec('git', ['clone', '-q', '--bare', work, bare(path)])
        await exec('git', ['-C', bare(path), 'config', 'http.receivepack', 'true'])
        return await git('rev-parse', 'HEAD')
      } finally {
        await rm(work, { recursive: true, force: true })
      }
    },
  }
}

/** Runs the CGI program and passes its response on. */
function serveGit(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { method = '', url = '', headers } = request
  const [path = '', query = ''] = url.split('?')
  const child = spawn('git', ['http-backend'], {
    env: {
      ...{ PATH: process.env['PATH'], GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: '1', REMOTE_USER: 'test' },
      ...{ REQUEST_METHOD: method, PATH_INFO: path, QUERY_STRING: query, CONTENT_TYPE: headers['content-type'] ?? '' },
      ...(headers['git-protocol'] && { GIT_PROTOCOL: String(headers['git-protocol']) }),
      ...(headers['content-encoding'] && { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
      ...(headers['content-length'] && { CONTENT_LENGTH: headers['content-length'] }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  let head: Buffer | undefined = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    if (!head) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    const lines = head.toString('latin1', 0, end).split('\r\n')
    const fields = lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
    const status = Number.parseInt(fields.find(([name]) => name?.toLowerCase() === 'status')?.[1] ?? '200', 10)
    response.writeHead(status, Object.fromEntries(fields.filter(([name]) => name?.toLowerCase() !== 'status')))
    response.write(head.subarray(end + 4))
    head = undefined
  })
  child.once('close', () => response.end())
  response.once('close', () => child.kill())
}

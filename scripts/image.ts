// npm run image    builds the image with buildah and prints its size. It needs root, buildah and mmdebstrap, and no registry of
// images: the base is Debian with the Node.js of the packages, in place of `node:<version>-trixie-slim`.
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'switchyard-image-'))
const base = 'localhost/switchyard-base'
const image = 'localhost/switchyard'
/** Certificates of this machine's proxies, for the packages that the build installs. */
const certificates = process.env['NODE_EXTRA_CA_CERTS']
const certificatesInside = '/usr/local/share/certificates.pem'

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
}

const storage = ['--storage-driver', 'vfs', '--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
const buildah = (...args: string[]): void => run('buildah', ...storage, ...args)
const buildahText = (...args: string[]): string =>
  execFileSync('buildah', [...storage, ...args], { cwd: root, encoding: 'utf8' }).trim()

/** Makes the folder that is added to Debian: Node.js and npm, as in the official image. */
function nodeFiles(): string {
  const files = join(folder, 'node')
  const npm = join(files, 'lib', 'node_modules', 'npm')
  mkdirSync(join(files, 'bin'), { recursive: true })
  mkdirSync(join(files, 'share'), { recursive: true })
  copyFileSync(process.execPath, join(files, 'bin', 'node'))
  const program = execFileSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).trim()
  cpSync(join(dirname(program), '..'), npm, { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(files, 'bin', 'npm'))
  if (certificates) copyFileSync(certificates, join(files, 'share', 'certificates.pem'))
  return files
}

function makeBase(): void {
  const debian = join(folder, 'debian.tar')
  run('mmdebstrap', '--variant=minbase', '--quiet', 'trixie', debian, 'http://deb.debian.org/debian')
  const container = buildahText('from', 'scratch')
  buildah('add', '--quiet', container, debian, '/')
  buildah('copy', '--quiet', container, nodeFiles(), '/usr/local')
  if (certificates) buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${certificatesInside}`, container)
  buildah('commit', '--quiet', '--rm', container, base)
}

/** Returns the bytes of an image's file system as a compressed archive, as registries store it. */
function compressedBytes(name: string): number {
  const container = buildahText('from', '--pull-never', name)
  const mounted = buildahText('mount', container)
  const command = 'tar --create --numeric-owner --directory "$1" . | gzip -6 | wc --bytes'
  return Number(execFileSync('sh', ['-c', command, 'sh', mounted], { encoding: 'utf8' }))
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

try {
  makeBase()
  const arg = `NODE_IMAGE=${base}`
  const ignore = ['--ignorefile', 'deploy/Dockerfile.dockerignore']
  buildah(
    'bud',
    '--isolation',
    'chroot',
    '--pull-never',
    '--format',
    'docker',
    '--build-arg',
    arg,
    ...ignore,
    '-f',
    'deploy/Dockerfile',
    '-t',
    image,
    '.',
  )
  const [below, all] = [compressedBytes(base), compressedBytes(image)]
  process.stdout.write(
    `base ${megabytes(below)}, image ${megabytes(all)}, of that ours ${megabytes(all - below)} (gzip)\n`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

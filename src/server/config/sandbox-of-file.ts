import { closestTo } from '../platform/closest.ts'
import type { DockerSettings, SandboxConfig, SandboxDriverChoice } from './config.ts'
import type { ConfigFile, Place } from './file.ts'

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place?: Place) => void
}

type ReportAt = (text: string, ...path: (string | number)[]) => void

const drivers: readonly SandboxDriverChoice[] = ['auto', 'bubblewrap', 'virtual', 'docker']
/** Drivers whose sandboxes have an image. */
const withImages: readonly SandboxDriverChoice[] = ['docker']

/** Returns the settings of the block `sandbox`. */
export function sandboxOfFile({ file, report }: Reading): SandboxConfig {
  const block = file.value.sandbox ?? {}
  const reportAt: ReportAt = (text, ...path) => report(`sandbox.${text}`, file.place(['sandbox', ...path]))
  const driver = driverOf(block.driver, reportAt)
  const { image } = block
  const images = (block.images ?? []).filter(entry => entry !== undefined)
  const hasImages = driver !== undefined && withImages.includes(driver)
  if (hasImages && image === undefined)
    reportAt(`image is required with driver ${driver}, for example debian:trixie`, 'driver')
  if (image !== undefined) checkImage(image, 'image', text => reportAt(text, 'image'))
  for (const [at, entry] of images.entries()) checkImage(entry, `images[${at}]`, text => reportAt(text, 'images', at))
  if (driver !== undefined && !hasImages) {
    const unused = (['image', 'images', 'docker'] as const).find(name => block[name] !== undefined)
    if (unused) reportAt(`${unused} needs driver ${withImages.join(' or ')}; the driver is ${driver}`, unused)
  }
  return { driver: driver ?? 'auto', image: image ?? '', images, docker: dockerOf(block.docker ?? {}, reportAt) }
}

function driverOf(given: string | undefined, reportAt: ReportAt): SandboxDriverChoice | undefined {
  if (given === undefined) return 'auto'
  const found = drivers.find(name => name === given)
  if (found) return found
  const near = closestTo(given, drivers)
  reportAt(
    `driver must be one of ${drivers.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
    'driver',
  )
  return undefined
}

const imageName = /^[a-z0-9][\w.:/@-]{0,254}$/i

function checkImage(image: string, field: string, report: (text: string) => void): void {
  if (!imageName.test(image)) report(`${field} must be the name of an image, for example debian:trixie`)
  else if (image.startsWith('switchyard-setup')) report(`${field} must not be an image that this service has made`)
}

type DockerBlock = NonNullable<NonNullable<ConfigFile['value']['sandbox']>['docker']>

const defaultSocket = '/var/run/docker.sock'

function dockerOf(block: DockerBlock, reportAt: ReportAt): DockerSettings {
  const { socket = defaultSocket, runtime, user, proxy_image: proxyImage, pull = 'missing' } = block
  const at = (text: string, name: string) => reportAt(`docker.${text}`, 'docker', name)
  if (!/^\/[^\0]{1,106}$/.test(socket)) at('socket must be the absolute path of a unix socket', 'socket')
  if (runtime !== undefined && !/^[\w.-]{1,100}$/.test(runtime))
    at('runtime must be the name of a runtime of the engine, for example runsc', 'runtime')
  if (user !== undefined && !/^\d{1,9}:\d{1,9}$/.test(user))
    at('user must be two numbers, uid:gid, for example 1000:1000', 'user')
  if (proxyImage !== undefined) checkImage(proxyImage, 'proxy_image', text => at(text, 'proxy_image'))
  if (pull !== 'missing' && pull !== 'never') at('pull must be missing or never', 'pull')
  return { socket, runtime, user, proxyImage, pull: pull !== 'never' }
}

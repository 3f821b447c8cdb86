import { closestTo } from '../platform/closest.ts'
import type { DockerSettings, SandboxConfig, SandboxDriverChoice } from './agent-settings.ts'
import type { Environment } from './config.ts'
import type { ConfigFile, Place } from './file.ts'
import { kubernetesOfFile } from './kubernetes-of-file.ts'
import type { DockerBlock, SandboxBlock } from './sandbox-shape.ts'
import type { ReportAt } from './yaml-shape.ts'

interface Reading {
  readonly file: ConfigFile
  readonly env: Environment
  readonly report: (text: string, place?: Place) => void
}

const drivers: readonly SandboxDriverChoice[] = ['auto', 'bubblewrap', 'virtual', 'docker', 'kubernetes']
/** Drivers whose sandboxes have an image. */
const withImages: readonly SandboxDriverChoice[] = ['docker', 'kubernetes']

/** Drivers that use a setting. */
const usersOf: Readonly<Record<'image' | 'images' | 'docker' | 'kubernetes', readonly SandboxDriverChoice[]>> = {
  image: withImages,
  images: withImages,
  docker: ['docker'],
  kubernetes: ['kubernetes'],
}
const settingNames = ['image', 'images', 'docker', 'kubernetes'] as const

/** Returns the settings of the block `sandbox`. */
export function sandboxOfFile({ file, env, report }: Reading): SandboxConfig {
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
  if (driver !== undefined) checkUse(block, driver, reportAt)
  return {
    driver: driver ?? 'auto',
    image: image ?? '',
    images,
    docker: dockerOf(block.docker ?? {}, reportAt),
    kubernetes: driver === 'kubernetes' ? kubernetesOfFile(block.kubernetes ?? {}, env, reportAt) : undefined,
  }
}

function checkUse(block: SandboxBlock, driver: SandboxDriverChoice, reportAt: ReportAt): void {
  for (const name of settingNames) {
    const users = usersOf[name]
    if (block[name] !== undefined && !users.includes(driver))
      reportAt(`${name} needs driver ${users.join(' or ')}; the driver is ${driver}`, name)
  }
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

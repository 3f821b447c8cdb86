import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** Starts Chromium, which contacts no other host by itself, with more arguments if given; the caller closes it. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  if (!existsSync(executablePath))
    throw new Error(`this test needs Chromium at ${executablePath}: apt-get install chromium`)
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })
}

/** Built by `scripts/fixture-image.sh`; its repository has a future, a tag, a remote, a stash and lost commits. */
export const FIXTURE_IMAGE = 'bestk/fixture:1';
export const FIXTURE_WORKDIR = '/testbed';
/** HEAD of the image, and the later commit that holds the answer; dates and names are fixed, so the ids are too. */
export const FIXTURE_COMMIT = '24e0f675c9703b897e7e5ed8366a027ba80afe6d';
export const FIXTURE_FIX_COMMIT = '404bc635d409ec6baeb1c937ff16cf083da8abf3';

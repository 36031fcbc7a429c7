"""What storages look like to people; called by the extension module.

`facts` collects what there is to say about a storage. `text` says it in one line and shows some of the values, `box`
draws it, and `html` puts drawing and facts side by side for notebooks. `options` holds what users want to see more of,
and `extremes` computes it.

Nothing here changes which copy of a storage is current, reads more than the values that are shown, or moves any between
host and device; but for `extremes`, which has to be asked for: it reads all values, and copies them if they are on a
device.
"""

def stencil(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = first + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp
        out = inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + middle + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp
        out = inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + inp + last
        out = inp + "温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度温度" + inp
        out = inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	inp	+	tabbed
        温度 = inp  # ------------------------------------------------------------------------------------------------------------------------------
        out = 温度 + 温 + inp  # ------------------------------------------------------------------------------------------------------------------------------
